/** What the compiler demands and refuses. Nothing here runs: `tsc` is the test. */

import type { Naive, NewWebhookConsumer, Queue, QueueId, ServiceConsumer } from "../src/index.js";

type Same<One, Other> = (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false;

function is<_Claim extends true>(): void {}

export async function aFifoQueueOfThisProgramNeedsAGroup(naive: Naive): Promise<void> {
  const orders = await naive.queue.create({ name: "orders", type: "fifo", dlq: true });
  is<Same<typeof orders, Queue<"fifo">>>();
  await naive.queue.send(orders, "x", { group_id: "g" });
  await naive.queue.send(orders.id, "x", { group_id: "g", dedup_id: "d" });
  await naive.queue.sendBatch(orders, [{ body: "x", group_id: "g" }]);
  await naive.queue.sendBatch(orders.id, [{ body: "x", group_id: "g" }]);
  // @ts-expect-error: there is no group
  await naive.queue.send(orders, "x");
  // @ts-expect-error: there is no group
  await naive.queue.send(orders.id, "x");
  // @ts-expect-error: there is no group
  await naive.queue.send(orders.id, "x", { dedup_id: "d" });
  // @ts-expect-error: a message on fifo has no delay of its own
  await naive.queue.send(orders, "x", { group_id: "g", delay_seconds: 1 });
  // @ts-expect-error: there is no group
  await naive.queue.sendBatch(orders, [{ body: "x" }]);
  // @ts-expect-error: there is no group
  await naive.queue.sendBatch(orders.id, [{ body: "x" }]);
}

export async function aStandardQueueNeedsNone(naive: Naive): Promise<void> {
  const jobs = await naive.queue.create({ name: "jobs" });
  is<Same<typeof jobs, Queue<"standard">>>();
  await naive.queue.send(jobs, "x");
  await naive.queue.send(jobs.id, "x", { group_id: "g", delay_seconds: 1 });
  await naive.queue.sendBatch(jobs.id, [{ body: "x" }, { body: "y", attributes: { kind: "z" } }]);
}

export async function aQueueOfWhichNobodyKnowsNeedsNone(naive: Naive, id: string): Promise<void> {
  const found = await naive.queue.get(id);
  is<Same<typeof found.id, QueueId>>();
  await naive.queue.send(id, "x");
  await naive.queue.send(found, "x");
  await naive.queue.send(found.id, "x", { group_id: "g" });
  await naive.queue.sendBatch(id, [{ body: "x" }]);
  if (found.type === "fifo") {
    const text: string = found.id;
    await naive.queue.receive(text);
  }
}

export async function everyQueueIsAQueue(naive: Naive): Promise<void> {
  const orders = await naive.queue.create({ name: "orders", type: "fifo" });
  const any: Queue = orders;
  const text: string = orders.id;
  await naive.queue.receive(orders.id, { max: 10 });
  await naive.queue.destroy(any);
  await naive.queue.destroy(text);
}

export async function aBodyIsText(naive: Naive): Promise<void> {
  // @ts-expect-error: an object is not
  await naive.queue.send("q", { task: "resize" });
}

export async function aConsumerIsOfTheKindThatWasSet(naive: Naive): Promise<void> {
  const webhook = await naive.queue.consumer.set("q", { type: "webhook", url: "https://example.com" });
  is<Same<typeof webhook, NewWebhookConsumer>>();
  const service = await naive.queue.consumer.set("q", { type: "service", service_id: "s", min: 1 });
  is<Same<typeof service, ServiceConsumer>>();
  // @ts-expect-error: a webhook has a URL
  await naive.queue.consumer.set("q", { type: "webhook", function: "f" });
}
