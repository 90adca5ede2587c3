/** `sendBatch`, beyond what the table of cases says of it. */

import { describe, expect, it } from "vitest";
import { type NewMessage, NoAnswerError, type SendResult } from "../../src/index.js";
import { FakeQueue, QUEUE_ID, queueJson, refusal } from "./fake-queue.js";

function numbered(count: number): NewMessage[] {
  return Array.from({ length: count }, (_, n) => ({ body: String(n) }));
}

describe("sendBatch", () => {
  it.each([
    ["an array", (messages: NewMessage[]) => messages],
    ["a set", (messages: NewMessage[]) => new Set(messages)],
    ["a generator", (messages: NewMessage[]) => messages.values()],
    ["a stream", (messages: NewMessage[]) => ReadableStream.from(messages)],
  ])("takes %s", async (_, made) => {
    const queue = new FakeQueue();
    const sent = await queue.client().queue.sendBatch(QUEUE_ID, made(numbered(250)) as Iterable<NewMessage>);
    expect(sent).toMatchObject({ sent: 250, failed: 0 });
    expect(sent.results).toHaveLength(250);
    expect(queue.sent.map(({ body }) => Number(body))).toEqual(Array.from({ length: 250 }, (_, n) => n));
    expect(queue.requests).toHaveLength(3);
  });

  it("tells each result in order and in turn, and keeps none", async () => {
    const queue = new FakeQueue();
    const told: [NewMessage, SendResult][] = [];
    const messages = numbered(150);
    let isTelling = false;
    const sent = await queue.client().queue.sendBatch(QUEUE_ID, messages, {
      onResult: async (message, result) => {
        expect(isTelling).toBe(false);
        isTelling = true;
        await Promise.resolve();
        isTelling = false;
        told.push([message, result]);
      },
    });
    expect(sent).toEqual({ results: [], sent: 150, failed: 0 });
    expect(told.map(([message]) => message)).toEqual(messages);
    expect(told[0]?.[0], "it is the message itself").toBe(messages[0]);
    expect(told.map(([, result]) => result.message_id)).toEqual(messages.map((_, n) => `m-${n + 1}`));
  });

  it("reads on only when what it has is sent", async () => {
    const queue = new FakeQueue();
    let most = 0;
    function* counted(): Generator<NewMessage, void> {
      for (const [n, message] of numbered(1000).entries()) {
        most = Math.max(most, n - queue.sent.length);
        yield message;
      }
    }
    await queue.client().queue.sendBatch(QUEUE_ID, counted());
    expect(most).toBeLessThanOrEqual(100);
  });

  it("closes a source that it does not read to its end, and says how far it came", async () => {
    const queue = new FakeQueue();
    let isClosed = false;
    function* endless(): Generator<NewMessage, void> {
      try {
        for (;;) yield { body: "x" };
      } finally {
        isClosed = true;
      }
    }
    queue.intercept = () => (queue.sent.length === 200 ? refusal(401, "unauthorized") : undefined);
    const failed = queue.client().queue.sendBatch(QUEUE_ID, endless());
    await expect(failed).rejects.toMatchObject({ code: "unauthorized", details: { settled: 200 } });
    expect(isClosed).toBe(true);
  });

  it("throws on what its source throws", async () => {
    const queue = new FakeQueue();
    const fault = new RangeError("the file is broken");
    function* broken(): Generator<NewMessage, void> {
      yield { body: "x" };
      throw fault;
    }
    await expect(queue.client().queue.sendBatch(QUEUE_ID, broken())).rejects.toBe(fault);
  });

  it("tells of all that was in a request when a repeat of the rest fails as a whole", async () => {
    const queue = new FakeQueue();
    const entries = [{ message_id: "m" }, { error: { code: "unavailable", message: "not now" } }, { message_id: "n" }];
    const answers = [{ status: 200, body: { results: entries } }, refusal(500, "internal_error")];
    queue.intercept = () => answers.shift();
    const told: [string, SendResult][] = [];
    const client = queue.client({ sleep: async () => undefined });
    const failed = client.queue.sendBatch(QUEUE_ID, numbered(3), {
      onResult: ({ body }, result) => told.push([body, result]),
    });
    await expect(failed).rejects.toMatchObject({ code: "internal_error", details: { settled: 1 } });
    expect(told).toEqual([
      ["0", { message_id: "m" }],
      ["1", { error: { code: "internal_error", message: "This is internal_error." } }],
      ["2", { message_id: "n" }],
    ]);
  });

  it("lets groups overtake on a queue that is known to be standard", async () => {
    const queue = new FakeQueue();
    const refused = { results: [{ error: { code: "unavailable", message: "not now" } }] };
    let times = 0;
    queue.intercept = (_, path) => {
      times += path.endsWith("/batch") ? 1 : 0;
      return times >= 2 && times <= 4 ? { status: 200, body: refused } : undefined;
    };
    const client = queue.client({ sleep: async () => undefined });
    const standard = await client.queue.get(QUEUE_ID);
    expect(standard).toMatchObject(queueJson());
    const messages = [...numbered(99), { body: "first", group_id: "g" }, { body: "second", group_id: "g" }];
    const answer = { results: [...messages.slice(0, 99).map(() => ({ message_id: "m" })), ...refused.results] };
    const original = queue.intercept;
    queue.intercept = (method, path) =>
      original(method, path) ?? (times === 1 ? { status: 200, body: answer } : undefined);
    const sent = await client.queue.sendBatch(standard, messages);
    expect(sent).toMatchObject({ sent: 100, failed: 1 });
    expect(queue.sent).toEqual([{ body: "second", group_id: "g" }]);
  });

  it("does not repeat a request of which it heard nothing", async () => {
    const queue = new FakeQueue();
    const fetch = async (...request: Parameters<typeof globalThis.fetch>) => {
      await queue.fetch(...request);
      throw new TypeError("fetch failed", { cause: new Error("other side closed") });
    };
    await expect(queue.client({ fetch }).queue.sendBatch(QUEUE_ID, numbered(1))).rejects.toThrow(NoAnswerError);
    expect(queue.sent).toHaveLength(1);
  });
});
