/** The consumer's loop in worlds that are played: whatever the calls go through, its promises hold. */

import { describe, expect, it } from "vitest";
import { CALM, Job, random, START, settings, type Weather, World } from "./world.js";

const SEEDS = Array.from({ length: 120 }, (_, seed) => seed);

type Choose = <Value>(...values: [Value, ...Value[]]) => Value;

function chooser(seed: number): Choose {
  const chance = random(seed);
  return (...values) => values[Math.floor(chance() * values.length)] ?? values[0];
}

function jobs(choose: Choose, fifo: boolean): Job[] {
  const number = choose(0, 1, 2, 5, 10, 25);
  return Array.from({ length: number }, (_, place) => {
    return new Job(`m${place}`, choose(0, 0.2, 1, 7, 40), {
      failures: choose(0, 0, 0, 0, 1, 2),
      ...(fifo && { group: choose("a", "b", "c") }),
      retryAfter: choose<number | undefined>(undefined, 0, 3),
      arrives: START + choose(0, 0, 0, 5, 30),
    });
  });
}

function world(seed: number, weather: (choose: Choose) => Partial<Weather>, drainSeconds?: number): World {
  const choose = chooser(seed);
  const fifo = choose(true, false);
  const chosen = settings({
    fifo,
    concurrency: choose(1, 2, 5, 30),
    max: choose(1, 3, 10),
    wait: choose(0, 1, 20),
    visibility: choose(5, 6, 12, 30, 120),
    drainSeconds: drainSeconds ?? choose(0, 3, 25),
    isProtected: choose(true, false),
  });
  return new World(jobs(choose, fifo), chosen, weather(choose), seed);
}

const calm = () => CALM;
const stormy = (choose: Choose): Partial<Weather> => ({
  latency: choose<[number, number]>([0, 0.01], [0.01, 0.3], [0.1, 3]),
  outages: Array.from({ length: choose(0, 1, 2, 3) }, (): [number, number] => {
    const begin = choose(0, 0.5, 3, 11, 20, 33, 47, 60);
    return [begin, begin + choose(1, 10, 45)];
  }),
  lostRequests: choose(0, 0.1, 0.4),
  lostAnswers: choose(0, 0.1, 0.4),
  refusedEntries: choose(0, 0.1, 0.4),
  retryAfter: choose<number | undefined>(undefined, 1, 30),
  clears: 120,
});

describe.each(SEEDS)("world %i", (seed) => {
  it("has each message done once in fair weather, and no lease ends by itself", () => {
    const played = world(seed, calm);
    const failures = played.jobs.reduce((sum, job) => sum + job.failures, 0);
    const { loop } = played.finish();
    expect(loop.isOver).toBe(true);
    expect(played.jobs.map((job) => [job.handled, job.expiries])).toEqual(played.jobs.map(() => [1, 0]));
    const { counts } = loop;
    expect(counts).toMatchObject({ done: played.jobs.length, lost: 0, unfinished: 0, api_errors: 0 });
    expect(counts.received).toBe(counts.done + counts.given_back);
    expect(counts.failed).toBeLessThanOrEqual(failures);
    expect(failures).toBeLessThanOrEqual(counts.given_back);
  });

  it("has all done in the end in any weather, and each lease ends once", () => {
    const played = world(seed, stormy).finish();
    expect(played.loop.isOver).toBe(true);
    expect(played.isAllDone()).toBe(true);
    expect(played.pending()).toBe(0);
  });

  it("drains in time whenever that begins", () => {
    const choose = chooser(seed + 1000);
    const played = world(seed, choose(calm, stormy));
    const begins = choose(0, 0.01, 0.3, 1, 2, 6, 14, 31, 50);
    const atOnce = choose<number | undefined>(undefined, 0, 2);
    played.at(begins, () => played.stop());
    if (atOnce !== undefined) played.at(begins + atOnce, () => played.stopAtOnce());
    played.run();
    expect(played.loop.isOver).toBe(true);
    expect(played.pending()).toBe(0);
  });

  it("leaves no message leased when it drains", () => {
    const played = world(seed, calm, 25);
    played.at(chooser(seed + 2000)(0, 0.01, 0.3, 1, 2, 6, 14, 31, 50), () => played.stop());
    played.run();
    expect(played.inFlight()).toEqual([]);
    expect(played.jobs.filter((job) => job.expiries > 0)).toEqual([]);
  });

  it("loses no lease because one call was slow", () => {
    const choose = chooser(seed + 3000);
    const slow: [number, number] = [choose(1, 2, 3, 4, 5, 6), choose(0, 0.5, 2, 5, 9, 17, 30)];
    const played = new World(
      [new Job("m", 200)],
      settings({ visibility: choose(5, 6, 7, 10, 30, 120) }),
      { slow },
      seed,
    );
    played.finish();
    expect([played.jobs[0]?.expiries, played.loop.counts.lost, played.loop.counts.done]).toEqual([0, 0, 1]);
  });

  it("loses nothing and doubles nothing in ten seconds of 503", () => {
    const choose = chooser(seed + 4000);
    const begins = choose(0, 0.2, 1, 4, 9, 15, 22, 40, 60);
    const retryAfter = choose<number | undefined>(undefined, 1, 3);
    const work = Array.from({ length: 60 }, (_, n) => new Job(`m${n}`, n % 7, { failures: n % 11 === 0 ? 1 : 0 }));
    const weather = { outages: [[begins, begins + 10]] as [number, number][], retryAfter };
    const played = new World(work, settings({ concurrency: 5 }), weather, seed).finish();
    expect(played.jobs.every((job) => job.handled === 1 && job.expiries === 0)).toBe(true);
    expect(played.loop.counts.lost).toBe(0);
  });
});
