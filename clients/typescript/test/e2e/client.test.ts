/** Every call on a running stack. */

import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  AlreadyExistsError,
  InvalidInputError,
  type Message,
  Naive,
  type NewMessage,
  NotFoundError,
  PayloadTooLargeError,
  ReceiptInvalidError,
  UnauthorizedError,
} from "../../src/index.js";
import { naive, newcomer, newQueue, until } from "./stack.js";

async function receiveOne(id: string): Promise<Message> {
  const { messages } = await naive.queue.receive(id, { wait: 10 });
  expect(messages).toHaveLength(1);
  return messages[0] as Message;
}

describe("queues", () => {
  it("are made, found, changed, emptied and destroyed", async () => {
    const name = `t-${randomUUID()}`;
    const made = await naive.queue.create({ name, type: "fifo", dlq: true, content_based_dedup: false });
    expect(made).toMatchObject({ name, type: "fifo", dlq: true, max_receive_count: 5, consumer: null });
    await expect(naive.queue.create({ name })).rejects.toThrow(AlreadyExistsError);
    expect((await naive.queue.list({ name })).queues).toEqual([made]);
    const all = [];
    for await (const queue of naive.queue.listAll({ limit: 2 })) all.push(queue.id);
    expect(all).toContain(made.id);
    expect(await naive.queue.update(made, { visibility_timeout: 60 })).toMatchObject({ visibility_timeout: 60 });
    expect((await naive.queue.get(made)).attributes).toEqual({ depth: 0, in_flight: 0, delayed: 0, dlq_depth: 0 });
    expect((await naive.queue.purge(made)).status).toBe("purging");
    expect((await naive.queue.purgeDlq(made)).status).toBe("purging");
    await naive.queue.destroy(made);
    await expect(naive.queue.get(made)).rejects.toMatchObject({
      constructor: NotFoundError,
      status: 404,
      code: "not_found",
      request_id: expect.any(String),
    });
  });
});

describe("messages", () => {
  it("come back byte for byte", async () => {
    const queue = await newQueue();
    const body = ' {"a":\r\n1}\t\\ "é" 🐘\u2028\ufeff';
    const attributes = { kind: "x", ключ: "значение 🐘" };
    const { message_id } = await naive.queue.send(queue, body, { attributes: { kind: attributes.kind } });
    expect(await receiveOne(queue.id)).toMatchObject({ message_id, body, attributes: { kind: "x" }, receive_count: 1 });
  });

  it("are extended, given back, settled and acked", async () => {
    const queue = await newQueue();
    await naive.queue.send(queue, "x");
    const first = await receiveOne(queue.id);
    const { lease_expires_at } = await naive.queue.extend(queue, first.receipt_handle, 600);
    expect(Date.parse(lease_expires_at)).toBeGreaterThan(Date.parse(first.lease_expires_at));
    await naive.queue.retry(queue, first.receipt_handle);
    const second = await receiveOne(queue.id);
    expect(second.receive_count).toBe(2);
    const extend = [{ receipt_handle: second.receipt_handle, visibility: 60 }];
    expect(await naive.queue.settle(queue, { ack: ["nonsense"], extend })).toMatchObject({
      ack: [{ error: { code: "receipt_invalid" } }],
      retry: [],
      extend: [{ ok: true }],
    });
    await naive.queue.ack(queue, second.receipt_handle);
    await naive.queue.ack(queue, second.receipt_handle);
    await expect(naive.queue.ack(queue, "nonsense")).rejects.toThrow(ReceiptInvalidError);
  });

  it("that cannot be taken are refused with the reason", async () => {
    const queue = await newQueue();
    await expect(naive.queue.send(queue, "")).rejects.toThrow(InvalidInputError);
    await expect(naive.queue.send(queue, "a\ud800")).rejects.toThrow(InvalidInputError);
    await expect(naive.queue.send(queue, "x".repeat(1024 * 1024 + 1))).rejects.toThrow(PayloadTooLargeError);
    await expect(naive.queue.receive(queue, { wait: 21 })).rejects.toThrow(/wait/);
  });

  it("go in batches, of which each fails alone, and in order within a group", async () => {
    const queue = await naive.queue.create({ name: `t-${randomUUID()}`, type: "fifo" });
    const messages = Array.from({ length: 230 }, (_, n) => ({ body: String(n), group_id: `g${n % 3}` }));
    messages[7] = { body: "", group_id: "g1" };
    const batch = await naive.queue.sendBatch(queue, messages);
    expect([batch.sent, batch.failed, batch.results[7]?.error?.code]).toEqual([229, 1, "invalid_input"]);
    const got: Message[] = [];
    while (got.length < 229) {
      const { messages } = await naive.queue.receive(queue, { max: 10, wait: 5 });
      got.push(...messages);
      await naive.queue.settle(queue, { ack: messages.map((message) => message.receipt_handle) });
    }
    for (const group of ["g0", "g1", "g2"]) {
      const numbers = got.filter((message) => message.group_id === group).map((message) => Number(message.body));
      expect(numbers).toEqual([...numbers].sort((one, other) => one - other));
    }
  });

  it("of which two do not fit into one request go in two", async () => {
    const queue = await newQueue();
    const large: NewMessage = { body: "é".repeat(500_000) };
    const escaped: NewMessage = { body: '"'.repeat(1024 * 1024) }; // over 2 MiB on the wire
    const batch = await naive.queue.sendBatch(queue, [large, large, large, escaped]);
    expect(batch.results.map((result) => result.error)).toEqual([undefined, undefined, undefined, undefined]);
  });

  it("that nobody could work on are looked at and moved back", async () => {
    const queue = await naive.queue.create({ name: `t-${randomUUID()}`, dlq: true, max_receive_count: 1 });
    const { message_id } = await naive.queue.send(queue, "poison");
    await naive.queue.retry(queue, (await receiveOne(queue.id)).receipt_handle);
    const { messages } = await naive.queue.receive(queue, { wait: 1 });
    expect(messages).toEqual([]);
    await until(async () => (await naive.queue.peekDlq(queue)).messages.length === 1);
    expect((await naive.queue.peekDlq(queue, { max: 1 })).messages[0]).toMatchObject({ message_id, body: "poison" });
    expect(await naive.queue.redrive(queue, { message_ids: [message_id] })).toMatchObject({ moved: 1, not_found: [] });
    expect((await receiveOne(queue.id)).body).toBe("poison");
  });
});

describe("users and keys", () => {
  it("keep what is theirs apart", async () => {
    const { user, naive: theirs } = await newcomer();
    const queue = await naive.forUser(user).queue.create({ name: "jobs" });
    expect(queue.user_id).toBe(user.id);
    expect((await theirs.queue.list()).queues.map(({ id }) => id)).toEqual([queue.id]);
    await expect(naive.queue.get(queue)).rejects.toThrow(NotFoundError);
    await expect(theirs.forUser("somebody-else").queue.list()).rejects.toMatchObject({ code: "key_subject_mismatch" });
    expect(await naive.users.update(user, { label: "Ada" })).toMatchObject({ id: user.id, label: "Ada" });
    expect((await naive.users.get(user)).label).toBe("Ada");
    await expect(naive.users.delete(user)).rejects.toMatchObject({ details: { reason: "user_has_resources" } });
    await naive.users.delete(user, { force: true });
    await expect(naive.users.get(user)).rejects.toThrow(NotFoundError);
  });

  it("are found by what the company calls them", async () => {
    const external_id = randomUUID();
    const user = await naive.users.create({ external_id });
    expect((await naive.users.list({ external_id })).users).toEqual([user]);
    await naive.users.delete(user);
  });

  it("that are revoked open nothing", async () => {
    const key = await naive.keys.create({ name: "short" });
    const shown = [];
    for await (const each of naive.keys.listAll()) if (each.key_id === key.key_id) shown.push(each);
    expect(shown).toMatchObject([{ name: "short", last_4: key.api_key.slice(-4), revoked: false }]);
    await naive.keys.revoke(key);
    const client = new Naive({ apiKey: key.api_key });
    await until(
      async () => (await client.queue.list().catch((error: unknown) => error)) instanceof UnauthorizedError,
      6,
    );
  });
});

describe("what the service runs or calls", () => {
  it("is a webhook that is set, changed, paused and removed", async () => {
    const queue = await newQueue();
    const set = await naive.queue.consumer.set(queue, { type: "webhook", url: "http://127.0.0.1:9/hook" });
    expect(set.secret).toMatch(/^whsec_/);
    expect((await naive.queue.get(queue)).consumer).toEqual({ type: "webhook", paused: false });
    expect(await naive.queue.consumer.update(queue, { max_concurrency: 5 })).toMatchObject({ max_concurrency: 5 });
    expect(await naive.queue.consumer.pause(queue)).toMatchObject({ paused: true });
    expect(await naive.queue.consumer.resume(queue)).toMatchObject({ paused: false });
    expect(await naive.queue.consumer.get(queue)).not.toHaveProperty("secret");
    await naive.queue.consumer.remove(queue);
    await expect(naive.queue.consumer.get(queue)).rejects.toThrow(NotFoundError);
  });

  it("is a service that is made, scaled, stopped and destroyed", async () => {
    const name = `t-${randomUUID().slice(0, 12)}`;
    const service = await naive.compute.create({ name, image: "me/worker:latest", env: { LEVEL: "debug" } });
    expect(service).toMatchObject({ name, type: "service", queue_id: null, cpu: 256, memory: 512 });
    expect((await naive.compute.list({ name })).services.map(({ id }) => id)).toEqual([service.id]);
    expect(await naive.compute.scale(service, 0)).toMatchObject({ desired: 0 });
    expect(await naive.compute.start(service)).toMatchObject({ desired: 1 });
    expect(await naive.compute.stop(service)).toMatchObject({ desired: 0 });
    expect((await naive.compute.get(service)).id).toBe(service.id);
    expect(await naive.compute.logs(service)).toMatchObject({ lines: expect.any(Array) });
    const all = [];
    for await (const each of naive.compute.listAll()) all.push(each.id);
    expect(all).toContain(service.id);
    await naive.compute.destroy(service);
    await expect(naive.compute.get(service)).rejects.toThrow(NotFoundError);
  });
});
