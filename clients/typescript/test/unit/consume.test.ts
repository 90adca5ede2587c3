/** `naive.queue.consume`: the loop carried out, against a queue in memory. */

import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type ConsumeEvent,
  type ConsumeOptions,
  type Consuming,
  type Delivery,
  type Handler,
  InvalidInputError,
  type Logger,
  NotFoundError,
  Retry,
} from "../../src/index.js";
import { FakeQueue, gate, pause, QUEUE_ID, queueJson, refusal, until } from "./fake-queue.js";

const MESSAGES = `/v1/queue/${QUEUE_ID}/messages`;
const NOTHING = {
  received: 0,
  started: 0,
  done: 0,
  failed: 0,
  given_back: 0,
  extended: 0,
  lost: 0,
  api_errors: 0,
  unfinished: 0,
};

let queue: FakeQueue;
let logger: { warn: ReturnType<typeof vi.fn>; error: ReturnType<typeof vi.fn> };

beforeEach(() => {
  queue = new FakeQueue();
  logger = { warn: vi.fn(), error: vi.fn() };
});

afterEach(() => {
  expect([process.listenerCount("SIGTERM"), process.listenerCount("SIGINT")], "it listens on").toEqual([0, 0]);
});

function consume(handler: Handler, options: ConsumeOptions = {}): Consuming {
  return queue.client().queue.consume(QUEUE_ID, handler, { logger: logger as Logger, ...options });
}

/** A loop that ends when the queue is empty. */
function drain(handler: Handler, options: ConsumeOptions = {}): Consuming {
  return consume(handler, { idle_exit: 0, wait: 0, ...options });
}

describe("a message", () => {
  it("is handled and acked, and the counts are answered", async () => {
    queue.put(["a", "b", "c"]);
    const handled: string[] = [];
    const counts = await drain((message) => handled.push(message.body));
    expect(handled).toEqual(["a", "b", "c"]);
    expect(queue.acked).toEqual(handled);
    expect(counts).toEqual({ ...NOTHING, received: 3, started: 3, done: 3 });
  });

  it("waits until as many handlers as are wanted run no more", async () => {
    queue.put([..."abcde"]);
    const started: string[] = [];
    const { passed, open } = gate();
    const running = consume(
      async (message) => {
        started.push(message.body);
        await passed;
      },
      { concurrency: 3 },
    );
    await until(() => started.length === 3);
    await pause(50);
    expect(started).toHaveLength(3);
    open();
    await until(() => queue.acked.length === 5);
    running.stop();
    queue.put(["wakes the poll"]);
    await running;
  });

  it("whose handler fails is given back for longer each time", async () => {
    queue.put(["first"]);
    queue.put(["fifth"], { receive_count: 5 });
    const error = new Error("no way");
    const counts = await drain(() => {
      throw error;
    });
    const delays = Object.fromEntries(queue.givenBack);
    expect(delays.first).toBeGreaterThanOrEqual(1);
    expect(delays.first).toBeLessThanOrEqual(2);
    expect(delays.fifth).toBeGreaterThanOrEqual(16);
    expect(delays.fifth).toBeLessThanOrEqual(32);
    expect(counts).toMatchObject({ failed: 2, given_back: 2, done: 0 });
    expect(logger.error).toHaveBeenCalledWith(expect.stringContaining("first"), error);
  });

  it("is given back after what a Retry says, which is no failure", async () => {
    queue.put(["soon", "much later", "sometime", "never"]);
    const waits: Record<string, number | undefined> = { soon: 0.2, "much later": 1e9, never: Number.NaN };
    const counts = await drain(async (message) => {
      const seconds = waits[message.body];
      throw new Retry(seconds === undefined ? {} : { after: seconds });
    });
    const delays = Object.fromEntries(queue.givenBack);
    expect([delays.soon, delays["much later"]]).toEqual([1, 43_200]);
    for (const delay of [delays.sometime, delays.never]) expect([1, 2]).toContain(delay);
    expect(counts).toMatchObject({ failed: 0, given_back: 4 });
    expect(logger.error).not.toHaveBeenCalled();
  });

  it.each([undefined, null, "text", Object.create(null)])("is given back whatever is thrown: %j", async (thrown) => {
    queue.put(["bad", "good"]);
    const counts = await drain((message) => {
      if (message.body === "bad") throw thrown;
    });
    expect(counts).toMatchObject({ done: 1, failed: 1, given_back: 1 });
  });

  it("knows whether this is its last chance", async () => {
    queue.about = queueJson({ dlq: true, max_receive_count: 3 });
    for (const receives of [1, 2, 3, 4]) queue.put([`r${receives}`], { receive_count: receives });
    const seen: Record<string, unknown> = {};
    await drain((message) => {
      seen[message.body] = message.last_chance;
      throw new Retry();
    });
    expect(seen).toEqual({ r1: false, r2: false, r3: true, r4: true });
    expect(Object.fromEntries(queue.givenBack).r3, "what dies next time has nothing to wait for").toBe(0);
  });

  it("has no last chance without dead letters", async () => {
    queue.put(["a"], { receive_count: 999 });
    const seen: unknown[] = [];
    await drain((message) => seen.push(message.last_chance));
    expect(seen).toEqual([null]);
  });
});

describe("five hundred messages", () => {
  it("are each done once though some handlers fail", async () => {
    const bodies = Array.from({ length: 500 }, (_, n) => `${n % 20 === 0 ? "bad" : "good"} ${n}`);
    queue.put(bodies);
    const atOnce = new Set<string>();
    const done: string[] = [];
    const tries = new Map<string, number>();
    const running = consume(
      async (message) => {
        expect(atOnce.has(message.body), "two handlers have the same message").toBe(false);
        atOnce.add(message.body);
        tries.set(message.body, (tries.get(message.body) ?? 0) + 1);
        await pause(1);
        atOnce.delete(message.body);
        if (message.body.startsWith("bad") && tries.get(message.body) === 1) throw new Error("not the first time");
        done.push(message.body);
      },
      {
        concurrency: 20,
        onEvent: (event) => event.kind === "given_back" && queue.put([event.message?.body ?? ""]),
      },
    );
    await until(() => queue.acked.length === 500 && queue.polling > 0);
    running.stop();
    queue.put(["wakes the poll"]);
    const counts = await running;
    expect(done.sort()).toEqual([...bodies, "wakes the poll"].sort());
    expect(counts).toMatchObject({ done: 501, failed: 25, given_back: 25, lost: 0, unfinished: 0 });
    const settles = queue.requests.filter((request) => request.endsWith("/settle"));
    expect(settles.length, "it acks one by one").toBeLessThan(250);
  });
});

describe("a stop", () => {
  it("by a handler gives back at once what was not started", async () => {
    queue.about = queueJson({ type: "fifo" });
    queue.put(["a", "b", "c"], { group_id: "g" });
    const running: Consuming = consume(() => running.stop(), { concurrency: 3 });
    const counts = await running;
    expect(queue.acked).toEqual(["a"]);
    expect(queue.givenBack).toEqual([
      ["b", 0],
      ["c", 0],
    ]);
    expect(counts).toMatchObject({ done: 1, given_back: 2, unfinished: 0 });
  });

  it("works on what an open receive brings later", async () => {
    const running = consume(() => undefined);
    await until(() => queue.polling === 1);
    running.stop();
    await pause(50);
    queue.put(["late"]);
    expect(await running).toMatchObject({ received: 1, started: 1, done: 1, given_back: 0 });
    expect([queue.acked, queue.givenBack]).toEqual([["late"], []]);
  });

  it("at once waits for no poll, and what that brings later is still given back", async () => {
    const running = consume(() => undefined);
    await until(() => queue.polling === 1);
    running.stopNow();
    expect(await running).toEqual(NOTHING);
    queue.put(["very late"]);
    await until(() => queue.givenBack.length === 1);
    expect(queue.givenBack).toEqual([["very late", 0]]);
  });

  it("at once gives back what is being worked on, and tells the handler", async () => {
    queue.put(["a"]);
    const given: Delivery[] = [];
    const { passed, open } = gate();
    const running = consume(async (message) => {
      given.push(message);
      await passed;
    });
    await until(() => given.length === 1);
    expect([given[0]?.lost, given[0]?.signal.aborted]).toEqual([false, false]);
    running.stopNow();
    const counts = await running;
    open();
    expect([given[0]?.lost, given[0]?.signal.aborted]).toEqual([true, true]);
    expect([queue.acked, queue.givenBack, counts.unfinished]).toEqual([[], [["a", 0]], 1]);
  });

  it("lets handlers go on until the deadline", async () => {
    queue.put(["quick", "slow"]);
    const started: string[] = [];
    const { passed, open } = gate();
    const running = consume(
      async (message) => {
        started.push(message.body);
        await (message.body === "slow" ? passed : pause(100));
      },
      { concurrency: 2, drain_seconds: 1 },
    );
    await until(() => started.length === 2);
    running.stop();
    const counts = await running;
    open();
    expect([queue.acked, queue.givenBack]).toEqual([["quick"], [["slow", 0]]]);
    expect(counts).toMatchObject({ done: 1, given_back: 1, unfinished: 1 });
  });

  it("comes from an abort in the middle of a batch", async () => {
    queue.put([..."abcdef"]);
    const abort = new AbortController();
    const running = consume(
      async (message) => {
        if (message.body === "b") abort.abort();
        await pause(20);
      },
      { concurrency: 3, signal: abort.signal },
    );
    const counts = await running;
    expect(counts).toMatchObject({ received: 3, done: 3, lost: 0, unfinished: 0 });
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
    expect(queue.acked.sort()).toEqual(["a", "b", "c"]);
  });

  it("that was there before receives nothing", async () => {
    const counts = await consume(() => undefined, { signal: AbortSignal.abort() });
    expect(counts).toEqual(NOTHING);
    expect(queue.requests).toEqual([`GET /v1/queue/${QUEUE_ID}`]);
  });

  it.each(["SIGTERM", "SIGINT"] as const)("comes from %s", async (signal) => {
    queue.put(["a"]);
    const counts = await consume(async () => {
      process.kill(process.pid, signal);
      await pause(50);
    });
    expect(counts).toMatchObject({ done: 1, unfinished: 0 });
  });

  it("comes to all loops from one signal, which one listener hears", async () => {
    const running = Array.from({ length: 12 }, () => consume(() => undefined));
    await until(() => queue.polling === 12);
    expect(process.listenerCount("SIGTERM")).toBe(1);
    process.kill(process.pid, "SIGTERM");
    await pause(50);
    queue.put(["wakes the polls"]);
    const counts = await Promise.all(running);
    expect(counts.reduce((sum, { done }) => sum + done, 0)).toBe(1);
  });

  it("comes from no signal that is the program's own", async () => {
    queue.put(["a"]);
    const heard = vi.fn();
    process.once("SIGTERM", heard);
    const running: Consuming = consume(
      async (message) => {
        if (message.body !== "a") return;
        process.kill(process.pid, "SIGTERM");
        await until(() => heard.mock.calls.length > 0);
        queue.put(["b"]);
      },
      { handle_signals: false },
    );
    await until(() => queue.acked.length === 2 && queue.polling > 0);
    running.stop();
    queue.put(["wakes the poll"]);
    expect(await running).toMatchObject({ done: 3, given_back: 0 });
  });

  it("comes at once from a second signal", async () => {
    queue.put(["a"]);
    const { passed, open } = gate();
    const counts = await consume(async () => {
      process.kill(process.pid, "SIGTERM");
      await pause(50);
      process.kill(process.pid, "SIGINT");
      await passed;
    });
    open();
    expect([queue.givenBack, counts.unfinished]).toEqual([[["a", 0]], 1]);
  });
});

describe("a server that fails", () => {
  it("is asked again", async () => {
    queue.put(["a"]);
    const failing = [
      undefined,
      refusal(503, "unavailable"),
      undefined,
      refusal(500, "internal_error"),
      { status: 200, body: "nonsense" },
    ];
    queue.intercept = () => failing.shift();
    const events: ConsumeEvent[] = [];
    const counts = await drain(() => undefined, { onEvent: (event) => void events.push(event) });
    expect(queue.acked).toEqual(["a"]);
    expect(counts).toMatchObject({ done: 1, api_errors: 3 });
    expect(events.map((event) => event.kind)).toEqual([
      "api_error",
      "received",
      "started",
      "api_error",
      "api_error",
      "done",
    ]);
    expect(logger.warn).toHaveBeenCalledTimes(3);
  });

  it("costs no message while it answers 503", async () => {
    const bodies = Array.from({ length: 40 }, (_, n) => String(n));
    queue.put(bodies);
    let isDown = false;
    queue.intercept = (_, path) => (isDown && path.startsWith(MESSAGES) ? refusal(503, "unavailable") : undefined);
    const handled: string[] = [];
    const running = consume(
      async (message) => {
        handled.push(message.body);
        await pause(10);
      },
      { concurrency: 5 },
    );
    await until(() => handled.length > 8);
    isDown = true;
    await pause(1000);
    isDown = false;
    await until(() => queue.acked.length === 40 && queue.polling > 0);
    running.stop();
    queue.put(["wakes the poll"]);
    const counts = await running;
    expect(handled.sort()).toEqual([...bodies, "wakes the poll"].sort());
    expect(counts).toMatchObject({ done: 41, lost: 0 });
    expect(counts.api_errors).toBeGreaterThanOrEqual(1);
    expect(counts.api_errors).toBeLessThanOrEqual(20);
  });

  it("for good is an error once handlers have ended", async () => {
    queue.put(["a"]);
    let polls = 0;
    const ended: string[] = [];
    queue.intercept = (method, path) => {
      if (method !== "GET" || path !== MESSAGES) return undefined;
      polls += 1;
      return polls === 2 ? refusal(404, "not_found") : undefined;
    };
    const running = consume(
      async (message) => {
        await until(() => polls === 2);
        await pause(50);
        ended.push(message.body);
      },
      { concurrency: 2 },
    );
    await expect(running).rejects.toThrow(NotFoundError);
    expect([ended, queue.acked]).toEqual([["a"], ["a"]]);
  });
});

describe("a clock", () => {
  it("that jumps changes nothing", async () => {
    queue.put(["a"]);
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      const counts = await drain(async () => {
        vi.setSystemTime(Date.now() + 86_400_000);
        await pause(20);
        vi.setSystemTime(Date.now() - 2 * 86_400_000);
        await pause(20);
      });
      expect(counts).toEqual({ ...NOTHING, received: 1, started: 1, done: 1 });
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("a hook", () => {
  it("hears everything, in order, and cannot hurt", async () => {
    queue.put(["a"]);
    const events: ConsumeEvent[] = [];
    const counts = await drain(() => pause(50), {
      onEvent: async (event) => {
        await pause(event.kind === "received" ? 20 : 0);
        events.push(event);
        throw new Error("the hook is broken");
      },
    });
    expect(events.map((event) => [event.kind, event.message?.body])).toEqual([
      ["received", "a"],
      ["started", "a"],
      ["done", "a"],
    ]);
    expect(events[2]?.seconds).toBeGreaterThanOrEqual(0.04);
    expect(counts.done).toBe(1);
    expect(logger.error).toHaveBeenCalledTimes(3);
  });

  it("that waits delays no ack", async () => {
    queue.put(["a"]);
    const { passed, open } = gate();
    const running = consume(() => undefined, { onEvent: () => passed });
    await until(() => queue.acked.length === 1);
    running.stop();
    queue.put(["wakes the poll"]);
    open();
    await running;
  });
});

describe("what it is told", () => {
  it("is looked up in the name of the user", async () => {
    const options = { signal: AbortSignal.abort() };
    await queue
      .client()
      .forUser("u-1")
      .queue.consume(QUEUE_ID, () => undefined, options);
    expect(queue.requests).toEqual([`GET /v1/users/u-1/queue/${QUEUE_ID}`]);
  });

  it("is known already when it is a queue", async () => {
    const found = await queue.client().queue.get(QUEUE_ID);
    queue.requests.length = 0;
    await queue.client().queue.consume(found, () => undefined, { signal: AbortSignal.abort() });
    expect(queue.requests).toEqual([]);
  });

  it.each([
    [{ concurrency: 0 }, "concurrency has to be at least 1"],
    [{ max: 11 }, "max has to be 1 to 10"],
    [{ wait: 21 }, "wait has to be 0 to 20"],
    [{ visibility: 4 }, "visibility has to be 5 to 43200"],
    [{ drain_seconds: -1 }, "drain_seconds has to be at least 0"],
    [{ idle_exit: Number.NaN }, "idle_exit has to be at least 0"],
  ])("is refused by name where it is out of range: %j", async (options, named) => {
    const running = consume(() => undefined, options);
    await expect(running).rejects.toThrow(InvalidInputError);
    await expect(running).rejects.toThrow(named);
  });

  it("refuses a handler that is none before it costs a message", async () => {
    await expect(consume(null as never)).rejects.toThrow("handler has to be a function");
  });

  it.each([-1, "5"])("gives back for a number of seconds: %j", (after) => {
    expect(() => new Retry({ after: after as number })).toThrow("after has to be a number of seconds");
  });
});
