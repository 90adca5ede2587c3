/** What the consumer's loop decides in particular situations, in a world that is played. */

import { describe, expect, it } from "vitest";
import type { Command, Receive, Settle, Start } from "../../src/consumer/commands.js";
import { Retry } from "../../src/consumer/delivery.js";
import { Loop } from "../../src/consumer/loop.js";
import type { Settings } from "../../src/consumer/settings.js";
import {
  ForbiddenError,
  InternalError,
  NoAnswerError,
  RateLimitedError,
  UnauthorizedError,
  UnavailableError,
} from "../../src/errors.js";
import type { Message, Settled, SettleResult } from "../../src/models.js";
import { Job, message, START, settings, World } from "./world.js";

const HOUR = 3600;
const OK: SettleResult = { ok: true };
const EXPIRED: SettleResult = { error: { code: "receipt_expired", message: "over" } };

function answer(named: Partial<Settled>): Settled {
  return { ack: [], retry: [], extend: [], ...named };
}

function down(retry_after?: number): UnavailableError {
  return new UnavailableError("down", { status: 503, ...(retry_after !== undefined && { retry_after }) });
}

/** A loop whose calls a test answers by hand. */
class Played {
  readonly loop: Loop;
  now = START;
  #commands: Command[] = [];

  constructor(named: Partial<Settings> = {}, spread = 0.5) {
    this.loop = new Loop(settings(named), () => spread, START);
    this.step();
  }

  /** Let time pass, waking the loop as it wants to be. */
  step(after = 0): void {
    const until = this.now + after;
    for (let wake = this.loop.wakeAt(); wake < until; wake = this.loop.wakeAt()) {
      this.now = Math.max(this.now, wake);
      this.#commands.push(...this.loop.step(this.now));
    }
    this.now = until;
    this.#commands.push(...this.loop.step(this.now));
  }

  receives(): Receive[] {
    return this.#take("receive") as Receive[];
  }

  settles(): Settle[] {
    return this.#take("settle") as Settle[];
  }

  starts(): Start[] {
    return this.#take("start") as Start[];
  }

  receive(): Receive {
    return only(this.receives());
  }

  settle(): Settle {
    return only(this.settles());
  }

  start(): Start {
    return only(this.starts());
  }

  /** Answer the receive that is under way with these messages. */
  lease(messages: (string | Message)[], group?: string): void {
    const fields = group === undefined ? {} : { group_id: group };
    const received = messages.map((one) => (typeof one === "string" ? message(one, fields) : one));
    this.loop.received(this.receive(), received, this.now);
    this.step();
  }

  finish(start: Start, error?: unknown): void {
    this.loop.finished(start, error === undefined ? undefined : { error }, this.now);
    this.step();
  }

  settled(named: Partial<Settled>): void {
    this.loop.settled(this.settle(), answer(named), this.now);
  }

  settleFailed(failure: unknown): void {
    this.loop.settleFailed(this.settle(), failure, this.now);
  }

  kinds(): string[] {
    return this.loop.takeEvents().map((event) => event.kind);
  }

  #take(kind: Command["kind"]): Command[] {
    const taken = this.#commands.filter((command) => command.kind === kind);
    this.#commands = this.#commands.filter((command) => command.kind !== kind);
    return taken;
  }
}

function only<Value>(values: Value[]): Value {
  expect(values).toHaveLength(1);
  return values[0] as Value;
}

function ids(leases: readonly { delivery: { message_id: string } }[]): string[] {
  return leases.map((lease) => lease.delivery.message_id);
}

function numbered(count: number, seconds: number, more: object = {}): Job[] {
  return Array.from({ length: count }, (_, n) => new Job(`m${n}`, seconds, more));
}

describe("receives", () => {
  it("are at most 31 of an idle worker in ten minutes", () => {
    const world = new World([], settings({ concurrency: 10 })).run(600);
    expect(world.receives.length).toBeLessThanOrEqual(31);
    expect(new Set(world.receives.map(({ max, wait }) => `${max} ${wait}`))).toEqual(new Set(["10 20"]));
  });

  it("do not hammer a server that does not wait", () => {
    expect(new World([], settings({ wait: 0 })).run(60).receives.length).toBeLessThanOrEqual(61);
  });

  it("never ask for more than can be started", () => {
    const world = new World(numbered(40, 3), settings({ concurrency: 4 })).run(60);
    expect(world.isAllDone()).toBe(true);
    expect(Math.max(...world.receives.map(({ max }) => max))).toBeLessThanOrEqual(4);
  });

  it("fill the room together while there is plenty", () => {
    const world = new World(numbered(200, 30), settings({ concurrency: 100 }), { latency: [0.1, 0.1] }).run(2);
    expect(world.running.size, "ten receives one after the other would have taken two seconds").toBe(100);
  });

  it("wait for long only one at a time", () => {
    const played = new Played({ concurrency: 4, max: 1 });
    played.lease(["a"]);
    expect(played.receives().map((call) => call.wait)).toEqual([20, 1]);
  });

  it.each([down(7), new RateLimitedError("not now", { status: 429, retry_after: 7 })])(
    "are made again after what the server asks for",
    (failure) => {
      const played = new Played();
      played.loop.receiveFailed(played.receive(), failure, played.now);
      played.step(7);
      expect(played.receives()).toEqual([]);
      played.step(1);
      expect(played.receives()).toHaveLength(1);
    },
  );

  it("have pauses between them that grow", () => {
    const played = new Played({}, 1);
    const pauses = Array.from({ length: 8 }, () => {
      played.loop.receiveFailed(played.receive(), down(), played.now);
      const pause = played.loop.wakeAt() - played.now;
      played.step(pause);
      return pause;
    });
    expect(pauses).toEqual([0.25, 0.5, 1, 2, 4, 8, 8, 8]);
  });

  it("pause no longer than a limit, whatever a server asks for", () => {
    const played = new Played();
    played.loop.receiveFailed(played.receive(), down(1e9), played.now);
    expect(played.loop.wakeAt() - played.now).toBeLessThan(1000);
  });

  it("are not made while settling fails", () => {
    const played = new Played({ concurrency: 5, max: 5 });
    played.lease(["a"]);
    const underWay = played.receive();
    played.finish(played.start());
    played.settleFailed(down());
    played.loop.received(underWay, [message("b")], played.now);
    for (let times = 0; times < 6; times += 1) {
      played.step(9);
      played.settleFailed(down());
    }
    expect(played.receives()).toEqual([]);
    played.step(9);
    const call = played.settle();
    const results = { ack: call.acked.map(() => OK), extend: call.extended.map(() => OK) };
    played.loop.settled(call, answer(results), played.now);
    played.step();
    played.lease(["c"]);
    expect(played.receives(), "now that all is well it fills its room again").toHaveLength(1);
  });
});

describe("acks", () => {
  it("of what ends together go together", () => {
    const world = new World(numbered(10, 1), settings({ concurrency: 10 })).run(20);
    expect(world.isAllDone()).toBe(true);
    expect(world.settles.map((call) => call.acked.length)).toEqual([10]);
  });

  it("of what ends alone go at once", () => {
    const played = new Played();
    played.lease(["a"]);
    played.finish(played.start());
    expect(ids(played.settle().acked)).toEqual(["a"]);
  });

  it("wait a moment for others that still run", () => {
    const played = new Played({ concurrency: 2, max: 2 });
    played.lease(["a", "b"]);
    const [first, second] = played.starts() as [Start, Start];
    played.finish(first);
    expect(played.settles()).toEqual([]);
    played.step(0.02);
    played.finish(second);
    expect(played.settle().acked).toHaveLength(2);
  });

  it("do not wait for another call", () => {
    const played = new Played({ concurrency: 2, max: 2 });
    played.lease(["a", "b"]);
    const [first, second] = played.starts() as [Start, Start];
    played.finish(first);
    played.step(1);
    expect(played.settle().acked).toHaveLength(1);
    played.finish(second);
    played.step(1);
    expect(played.settle().acked).toHaveLength(1);
  });

  it("wait for an extension that was under way when the handler ended", () => {
    const played = new Played();
    played.lease(["a"]);
    const start = played.start();
    played.step(15);
    const extension = played.settle();
    played.finish(start);
    expect(played.settles()).toEqual([]);
    played.loop.settled(extension, answer({ extend: [OK] }), played.now);
    played.step();
    expect(played.settle().acked).toHaveLength(1);
  });

  it("are sent again when they were not taken", () => {
    const played = new Played();
    played.lease(["a"]);
    played.finish(played.start());
    played.settled({ ack: [{ error: { code: "unavailable", message: "not now" } }] });
    played.step(0.01);
    expect(played.settles()).toEqual([]);
    played.step(1);
    expect(played.settle().acked).toHaveLength(1);
  });

  it("that never can be taken are messages lost", () => {
    const played = new Played();
    played.lease(["a"]);
    played.finish(played.start());
    played.settled({ ack: [{ error: { code: "receipt_invalid", message: "garbled" } }] });
    expect(played.kinds()).toEqual(["received", "started", "lost"]);
  });

  it("had worked when their answer was lost and they are refused the second time", () => {
    const played = new Played({ fifo: true });
    played.lease(["a"], "g");
    played.finish(played.start());
    played.settleFailed(new NoAnswerError("lost"));
    played.step(1);
    played.settled({ ack: [EXPIRED] });
    expect(played.kinds()).toEqual(["received", "started", "api_error", "done"]);
  });

  it("that are refused the first time are messages lost", () => {
    const played = new Played({ fifo: true });
    played.lease(["a"], "g");
    played.finish(played.start());
    played.settleFailed(down());
    played.step(1);
    played.settled({ ack: [EXPIRED] });
    expect(played.kinds()).toEqual(["received", "started", "api_error", "lost"]);
  });

  it("of work done in time are made when the server is back, and nothing is received before", () => {
    const outages: [number, number][] = [[1, 90]];
    const world = new World([new Job("m", 5), new Job("n", 1)], settings(), { outages }).run(120);
    expect(world.jobs.map((job) => [job.handled, job.receives])).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  it("whose answer does not fit are failures of the call", () => {
    const played = new Played();
    played.lease(["a"]);
    played.finish(played.start());
    played.settled({ ack: [OK, OK] });
    played.step(1);
    expect(played.settle().acked).toHaveLength(1);
    expect(played.loop.counts.api_errors).toBe(1);
  });
});

describe("leases", () => {
  it("are kept for a handler five times as long", () => {
    const world = new World([new Job("m", 150)], settings()).run(200);
    expect([world.jobs[0]?.receives, world.jobs[0]?.handled, world.extensions]).toEqual([1, 1, 9]);
  });

  it("are extended at half of their time, and together", () => {
    const played = new Played({ concurrency: 2, max: 1 });
    played.lease(["a"]);
    played.step(2);
    played.lease(["b"]);
    played.step(12.9);
    expect(played.settles()).toEqual([]);
    played.step(0.1);
    expect(ids(played.settle().extended)).toEqual(["a", "b"]);
  });

  it("are counted from before their extension was asked for", () => {
    const played = new Played();
    played.lease(["a"]);
    const start = played.start();
    played.step(15);
    const call = played.settle();
    played.step(4);
    played.loop.settled(call, answer({ extend: [OK] }), played.now);
    expect(start.lease.end).toBe(call.at + 30);
  });

  it("end twelve hours after their receive, whatever the handler does", () => {
    const world = new World([new Job("m", 13 * HOUR)], settings({ visibility: 500 }));
    world.onStart = (start) => world.deliveries.push(start.lease.delivery);
    world.run(12 * HOUR - 60);
    expect(world.deliveries[0]?.lost).toBe(false);
    world.run(12 * HOUR + 1);
    expect(world.deliveries[0]?.lost).toBe(true);
    expect(world.loop.counts.lost).toBe(1);
    expect(world.jobs[0]?.visibleAt).toBeLessThanOrEqual(START + 12 * HOUR + 1);
    expect(world.extensions).toBeLessThanOrEqual((12 * HOUR) / 250 + 1);
  });

  it("tell their handler before they end when nothing gets through", () => {
    const world = new World([new Job("m", 100)], settings(), { outages: [[1, 1000]] });
    world.onStart = (start) => world.deliveries.push(start.lease.delivery);
    world.run(28);
    expect(world.deliveries[0]?.signal.aborted).toBe(false);
    world.run(30);
    expect(world.deliveries[0]?.signal.aborted).toBe(true);
    world.run(150);
    expect([world.loop.counts.done, world.loop.counts.lost, world.jobs[0]?.handled]).toEqual([0, 1, 0]);
  });

  it("are somebody else's when an extension is refused", () => {
    const played = new Played();
    played.lease(["a"]);
    const start = played.start();
    played.step(15);
    played.settled({ extend: [EXPIRED] });
    expect(start.lease.delivery.lost).toBe(true);
    played.finish(start);
    expect(played.settles(), "it is not acked").toEqual([]);
    expect(played.kinds()).toEqual(["received", "started", "lost"]);
  });

  it("of a message that comes again wait for the handler that lost it", () => {
    const played = new Played({ concurrency: 2, max: 2 });
    played.lease(["a"]);
    const lost = played.start();
    played.step(15);
    played.settled({ extend: [EXPIRED] });
    played.step();
    played.lease(["a"]);
    expect(played.starts()).toEqual([]);
    played.finish(lost);
    expect(played.start().lease.delivery.message_id).toBe("a");
  });

  it("that began apart are told apart by the server's own times", () => {
    const played = new Played({ max: 2, concurrency: 2 });
    played.lease([message("early", { ends: 10 }), message("late", { ends: 28 })]);
    expect(played.starts().map((start) => start.lease.end)).toEqual([START + 12, START + 30]);
  });

  it("of an answer that comes late began while the server still waited", () => {
    const played = new Played();
    const call = played.receive();
    played.step(27);
    played.loop.received(call, [message("a")], played.now);
    played.step();
    expect(played.start().lease.end).toBe(START + 20 + 30);
  });

  it("know nothing of wall clocks", () => {
    const played = new Played();
    played.lease([message("a", { ends: -1e9 })]);
    played.step(14.9);
    expect(played.settles()).toEqual([]);
    played.step(0.1);
    expect(played.settle().extended).toHaveLength(1);
  });

  it("come before the patience that a server asks for", () => {
    const played = new Played();
    played.lease(["a"]);
    played.step(15);
    played.settleFailed(new RateLimitedError("x", { status: 429, retry_after: 6 }));
    played.step(5.9);
    expect(played.settles()).toEqual([]);
    played.step(1.1);
    played.settleFailed(new RateLimitedError("x", { status: 429, retry_after: 600 }));
    played.step(3.5);
    expect(played.settles(), "or the lease would have ended").toHaveLength(1);
  });
});

describe("giving back", () => {
  it.each([new NoAnswerError("lost"), new InternalError("broken", { status: 500 })])(
    "is not repeated when it may have worked, since somebody may have the message",
    (failure) => {
      const played = new Played({}, 0);
      played.lease(["a"]);
      played.loop.stop(played.now);
      const start = played.start();
      played.loop.stopAtOnce(played.now);
      played.step();
      played.settleFailed(failure);
      played.step(4);
      expect(played.settles()).toEqual([]);
      expect(played.kinds()).toEqual(["received", "started", "api_error", "given_back"]);
      expect(start.lease.delivery.lost).toBe(true);
    },
  );

  it("is repeated while the message is hidden anyway", () => {
    const played = new Played();
    played.lease(["a"]);
    played.finish(played.start(), new Retry({ after: 5 }));
    played.settleFailed(new NoAnswerError("lost"));
    played.step(1);
    played.settled({ retry: [EXPIRED] });
    expect(played.kinds().at(-1), "it had worked").toBe("given_back");
  });

  it("is repeated when it surely did not work", () => {
    const played = new Played();
    played.lease(["a"]);
    played.finish(played.start(), new Error("failed"));
    played.settleFailed(down());
    played.step(1);
    expect(played.settle().givenBack).toHaveLength(1);
  });

  it("is what becomes of a message whose handler was told that it is lost, whatever it says", () => {
    const played = new Played();
    played.lease(["a"]);
    const start = played.start();
    played.loop.stopAtOnce(played.now);
    played.step();
    played.settleFailed(down());
    played.finish(start);
    played.step(1);
    const call = played.settle();
    expect([call.acked.length, call.givenBack.length]).toEqual([0, 1]);
  });

  it("does not happen to what an open receive brings after the stop: it is worked on, and nothing else is", () => {
    const played = new Played();
    const call = played.receive();
    played.loop.stop(played.now);
    played.step(3);
    played.loop.received(call, [message("a")], played.now);
    played.step();
    played.finish(played.start());
    expect(played.settle().acked).toHaveLength(1);
    expect(played.receives()).toEqual([]);
  });

  it("happens at once to what comes after a stop at once", () => {
    const played = new Played();
    const call = played.receive();
    played.loop.stopAtOnce(played.now);
    played.loop.received(call, [message("a")], played.now);
    played.step();
    expect(played.settle().givenBack).toHaveLength(1);
    expect(played.starts()).toEqual([]);
  });
});

describe("on fifo", () => {
  it("one failure gives back the rest of its group unrun, and no other group", () => {
    const work = [new Job("a1", 1, { failures: 1, group: "a" })];
    work.push(new Job("a2", 1, { group: "a" }), new Job("a3", 1, { group: "a" }));
    work.push(new Job("b1", 1, { group: "b" }), new Job("b2", 1, { group: "b" }));
    const world = new World(work, settings({ fifo: true, concurrency: 10 })).run(60);
    expect(world.starts).toEqual(["a1", "b1", "b2", "a1", "a2", "a3"]);
    expect(world.givenBack).toEqual(["a1", "a2", "a3"]);
    expect(world.loop.counts.failed).toBe(1);
  });

  it("what was received behind a failure goes back with it and in order", () => {
    const played = new Played({ fifo: true, concurrency: 5 });
    played.lease(["1", "2", "3"], "g");
    played.finish(played.start(), new Error("failed"));
    expect(ids(played.settle().givenBack)).toEqual(["1", "2", "3"]);
  });

  it("what was received behind a message that was lost goes back unrun", () => {
    const played = new Played({ fifo: true, concurrency: 5 });
    played.lease(["1", "2", "3"], "g");
    played.step(15);
    played.settled({ extend: [EXPIRED, OK, OK] });
    played.finish(played.start());
    expect(ids(played.settle().givenBack)).toEqual(["2", "3"]);
    expect(played.starts()).toEqual([]);
  });

  it("order holds in twenty groups of fifty at once", () => {
    const work = Array.from({ length: 1000 }, (_, n) => new Job(`m${n}`, 0.05, { group: String(n % 20) }));
    const world = new World(work, settings({ fifo: true, concurrency: 10 })).run(600);
    expect(world.isAllDone()).toBe(true);
    expect(Math.max(...world.jobs.map((job) => job.receives))).toBe(1);
  });
});

describe("the end", () => {
  it.each([
    new UnauthorizedError("revoked", { status: 401 }),
    new ForbiddenError("sealed", { status: 403 }),
    new RangeError("a bug"),
  ])("comes after an error that all calls will meet, which is its reason", (failure) => {
    const played = new Played();
    played.lease(["a"]);
    played.finish(played.start());
    played.settleFailed(failure);
    played.step();
    expect(played.loop.isOver).toBe(true);
    expect(played.loop.failure?.error).toBe(failure);
    expect(played.loop.counts.lost).toBe(1);
  });

  it("comes by itself when the worker is idle for long enough", () => {
    const world = new World([new Job("m", 4)], settings({ idleExit: 7 })).run();
    expect(world.loop.isOver).toBe(true);
    expect(world.now - START - 4).toBeGreaterThanOrEqual(7);
    expect(world.now - START - 4).toBeLessThanOrEqual(9);
    expect(world.loop.counts.done).toBe(1);
  });

  it("waits for a handler whose message was lost", () => {
    const played = new Played();
    played.lease(["a"]);
    const start = played.start();
    played.step(15);
    played.settled({ extend: [EXPIRED] });
    played.loop.stop(played.now);
    played.step(5);
    expect(played.loop.isOver).toBe(false);
    played.finish(start);
    expect(played.loop.isOver).toBe(true);
  });

  it("comes at once to a loop that has done nothing", () => {
    const loop = new Loop(settings(), () => 0.5, START);
    loop.stop(START);
    expect(loop.step(START)).toEqual([]);
    expect(loop.isOver).toBe(true);
    expect(loop.wakeAt()).toBeLessThan(Number.POSITIVE_INFINITY);
  });
});

describe("protection", () => {
  it("comes before work, and goes when nothing is held", () => {
    const world = new World([new Job("m", 4, { arrives: START + 3 })], settings({ isProtected: true }));
    const started: number[] = [];
    world.onStart = () => started.push(world.now);
    world.run(60);
    const [begun, ended] = world.protections;
    expect(world.protections.map(({ minutes }) => minutes)).toEqual([10, undefined]);
    expect((begun?.at ?? 0) + world.protectSeconds).toBeLessThanOrEqual(started[0] ?? 0);
    expect(world.jobs[0]?.handled).toBe(1);
    expect(ended?.at).toBeGreaterThan(START + 7);
    expect(ended?.at).toBeLessThan(START + 15);
  });

  it("is renewed before it is over, and kept from one message to the next", () => {
    const work = Array.from({ length: 20 }, (_, n) => new Job(`m${n}`, 100, { arrives: START + 102 * n }));
    const world = new World(work, settings({ isProtected: true })).run(2100);
    const times = world.protections.map(({ at }) => at);
    expect(world.isAllDone()).toBe(true);
    expect(world.protections.map(({ minutes }) => minutes)).toEqual([...Array<number>(7).fill(10), undefined]);
    expect(Math.max(...times.slice(1).map((time, place) => time - (times[place] ?? 0)))).toBeLessThan(600);
  });

  it("is waited for by work while it is being taken away", () => {
    const work = [new Job("m", 1), new Job("n", 1, { arrives: START + 13 })];
    const world = new World(work, settings({ isProtected: true }));
    world.protectSeconds = 5;
    const started: number[] = [];
    world.onStart = () => started.push(world.now);
    world.run(60);
    expect(world.protections.map(({ minutes }) => minutes)).toEqual([10, undefined, 10, undefined]);
    expect(started[1]).toBeGreaterThanOrEqual((world.protections[2]?.at ?? 0) + 5);
  });

  it("that is not given keeps no work from starting, and is asked for again", () => {
    const world = new World([new Job("m", 100)], settings({ isProtected: true }));
    world.grants = false;
    world.run(90);
    expect(world.starts).toEqual(["m"]);
    expect(world.protections.map(({ minutes }) => minutes)).toEqual([10, 10, 10]);
  });

  it.each(["stop", "stopAtOnce"] as const)("ends with the loop: %s", (how) => {
    const concurrency = how === "stop" ? 1 : 2; // so that a poll is under way, for which the second does not wait
    const world = new World([new Job("m", 4)], settings({ isProtected: true, concurrency }));
    world.at(2, () => world[how]());
    world.run();
    expect(world.loop.isOver).toBe(true);
    expect(world.protections.map(({ minutes }) => minutes)).toEqual([10, undefined]);
    expect(world.now).toBeLessThan(START + (how === "stop" ? 5 : 3));
    expect(world.loop.counts.unfinished).toBe(how === "stop" ? 0 : 1);
  });
});
