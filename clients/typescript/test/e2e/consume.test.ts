/** Workers on a running stack: slow handlers, failures, an API that is away, and their own end. */

import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Counts, Naive, type NewMessage, Retry } from "../../src/index.js";
import { example, freePort, isEmpty, naive, newQueue, until, wakePoll } from "./stack.js";

/** What handlers have done with messages, by body; none may be in the hands of two. */
class Handled {
  readonly done: string[] = [];
  readonly tries = new Map<string, number>();
  readonly #atOnce = new Set<string>();

  async workOn(body: string, work: (tries: number) => Promise<unknown>): Promise<void> {
    expect(this.#atOnce.has(body), "two handlers have the same message").toBe(false);
    this.#atOnce.add(body);
    const tries = (this.tries.get(body) ?? 0) + 1;
    this.tries.set(body, tries);
    try {
      await work(tries);
      this.done.push(body);
    } finally {
      this.#atOnce.delete(body);
    }
  }
}

function numbered(count: number): NewMessage[] {
  return Array.from({ length: count }, (_, n) => ({ body: String(n) }));
}

function sum(counts: Counts[], name: keyof Counts): number {
  return counts.reduce((total, each) => total + each[name], 0);
}

describe("a worker", () => {
  it("keeps the message of a handler that is slower than the lease", async () => {
    const queue = await newQueue({ visibility_timeout: 5 });
    await naive.queue.send(queue, "slow");
    const handled = new Handled();
    const work = ({ body }: { body: string }) => handled.workOn(body, () => pause(8_000));
    const workers = [0, 1].map(() => naive.queue.consume(queue, work, { wait: 2 }));
    await until(() => handled.done.length === 1);
    await until(() => isEmpty(queue));
    for (const worker of workers) worker.stop();
    const counts = await Promise.all(workers);
    expect(handled.tries).toEqual(new Map([["slow", 1]]));
    expect([sum(counts, "received"), sum(counts, "done"), sum(counts, "lost")]).toEqual([1, 1, 0]);
    expect(sum(counts, "extended")).toBeGreaterThanOrEqual(2);
  });

  it("does each of five hundred messages once though some handlers fail", async () => {
    const queue = await newQueue();
    await naive.queue.sendBatch(queue, numbered(500));
    const handled = new Handled();
    const work = ({ body }: { body: string }) =>
      handled.workOn(body, async (tries) => {
        if (Number(body) % 20 === 0 && tries === 1) throw new Error("not the first time");
      });
    const logger = { warn: () => undefined, error: () => undefined };
    const workers = [0, 1].map(() => naive.queue.consume(queue, work, { concurrency: 10, wait: 2, logger }));
    await until(() => handled.done.length >= 500);
    await until(() => isEmpty(queue));
    for (const worker of workers) worker.stop();
    const counts = await Promise.all(workers);
    expect(handled.done.map(Number).sort((one, other) => one - other)).toEqual(numbered(500).map((_, n) => n));
    expect([sum(counts, "done"), sum(counts, "failed"), sum(counts, "given_back"), sum(counts, "lost")]).toEqual([
      500, 25, 25, 0,
    ]);
  });

  it("loses nothing and doubles nothing in ten seconds of 503", async () => {
    const queue = await newQueue({ visibility_timeout: 20 });
    await naive.queue.sendBatch(queue, numbered(40));
    const handled = new Handled();
    let isDown = false;
    const fetch: typeof globalThis.fetch = async (url, init) =>
      isDown ? new Response('{"message":"Service Unavailable"}', { status: 503 }) : globalThis.fetch(url, init);
    const work = ({ body }: { body: string }) => handled.workOn(body, () => pause(500));
    const logger = { warn: () => undefined, error: () => undefined };
    const worker = new Naive({ fetch }).queue.consume(queue, work, { concurrency: 5, wait: 2, logger });
    await until(() => handled.done.length > 8);
    isDown = true;
    await pause(10_000);
    isDown = false;
    await until(() => isEmpty(queue));
    worker.stop();
    const counts = await worker;
    expect([...handled.tries.values()]).toEqual(Array(40).fill(1));
    expect(counts).toMatchObject({ received: 40, done: 40, lost: 0 });
  });

  it("keeps the order of each group though handlers fail", async () => {
    const queue = await naive.queue.create({ name: `t-${crypto.randomUUID()}`, type: "fifo" });
    const groups = ["a", "b", "c", "d"];
    const bodies = groups.flatMap((group) => Array.from({ length: 12 }, (_, n) => `${group}${n}`));
    await naive.queue.sendBatch(
      queue,
      bodies.map((body) => ({ body, group_id: body.slice(0, 1) })),
    );
    const handled = new Handled();
    const work = ({ body }: { body: string }) =>
      handled.workOn(body, async (tries) => {
        if (/[37]$/.test(body) && tries === 1) throw new Retry({ after: 0 });
      });
    const worker = naive.queue.consume(queue, work, { concurrency: 6, wait: 2 });
    await until(() => handled.done.length >= 48);
    worker.stop();
    const counts = await worker;
    for (const group of groups) {
      expect(handled.done.filter((body) => body.startsWith(group))).toEqual(
        bodies.filter((body) => body.startsWith(group)),
      );
    }
    expect(counts).toMatchObject({ done: 48, failed: 0, lost: 0 });
  });

  it("leaves nothing leased when it is aborted in mid-batch", async () => {
    const queue = await newQueue({ visibility_timeout: 60 });
    await naive.queue.sendBatch(queue, numbered(12));
    const abort = new AbortController();
    let begun = 0;
    const work = async () => {
      begun += 1;
      if (begun === 6) abort.abort();
      await pause(300);
    };
    const counts = await naive.queue.consume(queue, work, { concurrency: 4, signal: abort.signal });
    expect(counts).toMatchObject({ done: begun, unfinished: 0, lost: 0 });
    await until(async () => (await naive.queue.attributes(queue)).in_flight === 0, 5);
    expect((await naive.queue.attributes(queue)).depth).toBe(12 - begun);
  });
});

describe("the example of", () => {
  it("a worker drains when it is told to end", async () => {
    const queue = await newQueue();
    await naive.queue.sendBatch(queue, [{ body: "not yet" }, ...numbered(5)]);
    const worker = example("worker.mjs", { NAIVE_QUEUE_ID: queue.id });
    await until(() => worker.written.split("done").length > 6);
    worker.tell("SIGTERM");
    await wakePoll(queue);
    expect(await worker.ended).toBe(0);
    expect(worker.written).toContain("7 done, 0 failed, 1 given back");
    expect(await naive.queue.attributes(queue)).toMatchObject({ depth: 0, in_flight: 0 });
  });

  it("a web app puts what it is asked for on the queue", async () => {
    const queue = await newQueue();
    const port = await freePort();
    const app = example("web-app.mjs", { NAIVE_QUEUE_ID: queue.id, PORT: String(port) });
    await until(() => app.written.includes("listening"));
    const body = '{"url": "https://…"}';
    const answer = await fetch(`http://127.0.0.1:${port}/thumbnails`, { method: "POST", body });
    expect(answer.status).toBe(202);
    const { id } = (await answer.json()) as { id: string };
    const { messages } = await naive.queue.receive(queue, { wait: 10 });
    expect(messages).toMatchObject([{ message_id: id, body, attributes: { kind: "thumbnail" } }]);
    expect((await fetch(`http://127.0.0.1:${port}/thumbnails`, { method: "POST" })).status).toBe(503);
    app.tell("SIGTERM");
    await app.ended;
  });

  it("a receiver of webhooks is given what is sent, and believes nobody else", async () => {
    const queue = await newQueue({ visibility_timeout: 120 });
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/hook`;
    const { secret } = await naive.queue.consumer.set(queue, { type: "webhook", url });
    const receiver = example("webhook.mjs", { WEBHOOK_SECRET: secret, PORT: String(port) });
    await until(() => receiver.written.includes("listening"));
    const { message_id } = await naive.queue.send(queue, "héllo 🐘");
    await until(() => receiver.written.includes(`${message_id}: héllo 🐘`));
    expect((await fetch(url, { method: "POST", body: "x" })).status).toBe(401);
    await until(() => isEmpty(queue));
    receiver.tell("SIGTERM");
    await receiver.ended;
  });
});
