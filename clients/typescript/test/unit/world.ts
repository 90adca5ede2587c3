/**
 * A queue, an API that fails as told, and handlers, in a time of their own: what a consumer's loop meets in an hour,
 * played in a moment and checked at every step.
 */

import { expect } from "vitest";
import { GIVE_BACK_SECONDS, MAX_LEASE_SECONDS } from "../../src/constants.js";
import {
  leasesOf,
  type Protect,
  type Receive,
  type Settle,
  type Start,
  settleBody,
} from "../../src/consumer/commands.js";
import { type Delivery, Retry } from "../../src/consumer/delivery.js";
import type { Lease } from "../../src/consumer/lease.js";
import { Loop } from "../../src/consumer/loop.js";
import type { Settings } from "../../src/consumer/settings.js";
import { NoAnswerError, UnavailableError } from "../../src/errors.js";
import type { Message, Settled, SettleResult } from "../../src/models.js";

/** When the server's clock starts. It has nothing to do with the loop's, which starts at START. */
const EPOCH = Date.parse("2026-01-02T03:04:05Z");
export const START = 1000;

const OK: SettleResult = { ok: true };
const UNAVAILABLE: SettleResult = { error: { code: "unavailable", message: "not now" } };
const EXPIRED: SettleResult = { error: { code: "receipt_expired", message: "over" } };

/** The settings of a loop on a standard queue, but for what is named. */
export function settings(named: Partial<Settings> = {}): Settings {
  return {
    fifo: false,
    maxReceives: null,
    concurrency: 1,
    max: 10,
    wait: 20,
    visibility: 30,
    drainSeconds: 25,
    idleExit: undefined,
    isProtected: false,
    ...named,
  };
}

/** A message as a receive gives it; the end of its lease is on the server's clock. */
export function message(id: string, named: Partial<Message> & { ends?: number } = {}): Message {
  const { ends = 30, ...fields } = named;
  return {
    message_id: id,
    body: "work",
    receipt_handle: id,
    receive_count: 1,
    sent_at: new Date(EPOCH).toISOString(),
    lease_expires_at: new Date(EPOCH + ends * 1000).toISOString(),
    ...fields,
  };
}

/** Random numbers that are the same each time. */
export function random(seed: number): () => number {
  let state = seed + 0x9e3779b9;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A message on the queue: how long its handler takes, and how often it fails before it succeeds. */
export class Job {
  readonly id: string;
  readonly seconds: number;
  readonly group: string | undefined;
  failures: number;
  readonly retryAfter: number | undefined;
  readonly arrives: number;
  visibleAt: number = START;
  receives = 0;
  handle: string | undefined;
  leasedAt = Number.NEGATIVE_INFINITY;
  handled = 0;
  isDone = false;
  /** How often its lease ended without an ack or a give-back. */
  expiries = 0;

  constructor(
    id: string,
    seconds: number,
    more: { group?: string; failures?: number; retryAfter?: number | undefined; arrives?: number } = {},
  ) {
    this.id = id;
    this.seconds = seconds;
    this.group = more.group;
    this.failures = more.failures ?? 0;
    this.retryAfter = more.retryAfter;
    this.arrives = more.arrives ?? START;
  }

  isReady(now: number): boolean {
    return !this.isDone && now >= Math.max(this.visibleAt, this.arrives);
  }

  isLeased(now: number): boolean {
    return !this.isDone && this.handle !== undefined && now < this.visibleAt;
  }
}

/** What the calls go through. Each call has its latency twice: on its way, and on the way back. */
export interface Weather {
  latency: [number, number];
  /** Times, counted from the start, in which every call is answered 503 at once. */
  outages: [number, number][];
  lostRequests: number;
  lostAnswers: number;
  refusedEntries: number;
  retryAfter?: number | undefined;
  /** The one settle call that takes so many seconds. */
  slow?: [number, number];
  /** After so many seconds there are no more failures. */
  clears: number;
}

export const CALM: Weather = {
  latency: [0.01, 0.05],
  outages: [],
  lostRequests: 0,
  lostAnswers: 0,
  refusedEntries: 0,
  clears: Number.POSITIVE_INFINITY,
};

interface Appointment {
  at: number;
  number: number;
  happens: () => void;
}

/** The loop under test, its queue and its handlers. */
export class World {
  readonly jobs: Job[];
  readonly settings: Settings;
  readonly weather: Weather;
  readonly loop: Loop;
  now = START;
  readonly events: string[] = [];
  readonly starts: string[] = [];
  extensions = 0;
  readonly receives: { at: number; max: number; wait: number }[] = [];
  readonly protections: { at: number; minutes: number | undefined }[] = [];
  protectSeconds = 0.1;
  grants = true;
  readonly settles: Settle[] = [];
  readonly givenBack: string[] = [];
  readonly deliveries: Delivery[] = [];
  readonly running = new Map<string, Job>();
  stoppedAt: number | undefined;
  readonly broughtAt = new Map<string, number>();
  onStart: (start: Start) => void = () => undefined;
  readonly #random: () => number;
  readonly #agenda: Appointment[] = [];
  readonly #inCall = new Set<number>();
  readonly #acked = new Set<number>();
  #number = 0;

  constructor(jobs: Job[], chosen: Settings, weather: Partial<Weather> = {}, seed = 0) {
    this.jobs = jobs;
    this.settings = chosen;
    this.weather = { ...CALM, ...weather };
    this.#random = random(seed);
    this.loop = new Loop(chosen, this.#random, this.now);
  }

  /** Have something happen so many seconds after the start. */
  at(seconds: number, what: () => void): void {
    this.#later(START + seconds - this.now, what);
  }

  stop(): void {
    this.stoppedAt ??= this.now;
    this.loop.stop(this.now);
  }

  stopAtOnce(): void {
    this.stoppedAt ??= this.now;
    this.loop.stopAtOnce(this.now);
  }

  /** Play until the loop is over, or until so many seconds after the start. */
  run(until = 7200): this {
    while (!this.loop.isOver && this.now < START + until) {
      this.#step();
      if (this.loop.isOver) break;
      const wake = this.loop.wakeAt();
      const next = this.#agenda[0];
      check(Math.min(wake, next?.at ?? wake) < Number.POSITIVE_INFINITY, "the loop waits for nothing");
      if (!next || wake < next.at) {
        check(wake >= this.now || this.loop.step(this.now).length === 0, "the loop has overslept");
        this.now = Math.max(this.now, wake);
      } else {
        this.#agenda.shift();
        this.now = next.at;
        next.happens();
      }
    }
    return this;
  }

  /** Play until everything is done, and then stop. */
  finish(): this {
    const look = () => {
      if (this.stoppedAt !== undefined) return;
      if (this.isAllDone()) this.stop();
      else this.at(this.now - START + 1, look);
    };
    this.at(0, look);
    return this.run(10_000);
  }

  /** Messages that the loop holds: neither done, nor given back, nor lost. */
  pending(): number {
    const { received, done, given_back, lost } = this.loop.counts;
    return received - done - given_back - lost;
  }

  /** What the server holds as leased. */
  inFlight(): string[] {
    return this.jobs.filter((job) => job.isLeased(this.now)).map((job) => job.id);
  }

  isAllDone(): boolean {
    return this.jobs.every((job) => job.isDone);
  }

  #step(): void {
    for (const command of this.loop.step(this.now)) {
      if (command.kind === "receive") this.#beginReceive(command);
      else if (command.kind === "settle") this.#beginSettle(command);
      else if (command.kind === "start") this.#start(command);
      else this.#protect(command);
    }
    for (const event of this.loop.takeEvents()) {
      this.events.push(event.message ? `${event.kind} ${event.message.message_id}` : event.kind);
    }
    check(this.pending() >= 0 && this.pending() <= this.settings.concurrency, "it holds more than it may");
    check(this.running.size <= this.settings.concurrency, "it runs more than it may");
    if (this.stoppedAt !== undefined) {
      check(this.now <= this.stoppedAt + this.settings.drainSeconds + GIVE_BACK_SECONDS, "the drain has no end");
    }
  }

  #later(seconds: number, happens: () => void): void {
    this.#number += 1;
    const appointment = { at: this.now + seconds, number: this.#number, happens };
    const place = this.#agenda.findIndex((other) => other.at > appointment.at);
    this.#agenda.splice(place < 0 ? this.#agenda.length : place, 0, appointment);
  }

  #latency(): number {
    const [least, most] = this.now - START >= this.weather.clears ? CALM.latency : this.weather.latency;
    return least + (most - least) * this.#random();
  }

  #happens(probability: number): boolean {
    return this.now - START < this.weather.clears && this.#random() < probability;
  }

  #isDown(): boolean {
    return this.weather.outages.some(([begin, end]) => begin <= this.now - START && this.now - START < end);
  }

  #unavailable(): UnavailableError {
    const retry_after = this.weather.retryAfter;
    return new UnavailableError("down", { status: 503, ...(retry_after !== undefined && { retry_after }) });
  }

  #start(start: Start): void {
    const job = this.#job(start.lease);
    const broughtAt = this.broughtAt.get(start.lease.delivery.message_id) ?? 0;
    check(this.stoppedAt === undefined || broughtAt >= this.stoppedAt, "it starts what waited when it was stopped");
    check(!this.running.has(job.id), "a message is handled twice at once");
    if (this.settings.fifo) {
      check(![...this.running.values()].some((other) => other.group === job.group), "two of a group at once");
      const before = this.jobs.slice(0, this.jobs.indexOf(job)).filter((other) => other.group === job.group);
      check(
        before.every((other) => other.isDone),
        "out of order",
      );
    }
    this.running.set(job.id, job);
    this.starts.push(job.id);
    this.onStart(start);
    this.#later(job.seconds, () => this.#finish(start, job));
  }

  #finish(start: Start, job: Job): void {
    this.running.delete(job.id);
    let failure: { error: unknown } | undefined;
    if (job.failures > 0) {
      job.failures -= 1;
      const { retryAfter } = job;
      failure = { error: retryAfter === undefined ? new Error("failed") : new Retry({ after: retryAfter }) };
    } else if (!start.lease.delivery.lost) {
      job.handled += 1;
    }
    this.loop.finished(start, failure, this.now);
  }

  #protect(call: Protect): void {
    this.protections.push({ at: this.now, minutes: call.minutes });
    this.#later(this.protectSeconds, () => this.loop.protected(call, this.grants, this.now));
  }

  #beginReceive(call: Receive): void {
    check(this.stoppedAt === undefined, "it receives although it was stopped");
    this.receives.push({ at: this.now, max: call.max, wait: call.wait });
    if (this.#happens(this.weather.lostRequests)) {
      this.#later(call.wait + 10, () => this.loop.receiveFailed(call, new NoAnswerError("lost"), this.now));
    } else {
      this.#later(this.#latency(), () => this.#poll(call, this.now + call.wait));
    }
  }

  #poll(call: Receive, until: number): void {
    if (this.#isDown()) {
      const failure = this.#unavailable();
      this.#later(this.#latency(), () => this.loop.receiveFailed(call, failure, this.now));
      return;
    }
    const messages = this.#lease(call);
    if (messages.length === 0 && this.now < until) {
      // As often as it takes to see what becomes ready within the wait.
      this.#later(Math.min(0.25, until - this.now), () => this.#poll(call, until));
    } else if (this.#happens(this.weather.lostAnswers)) {
      this.#later(this.#latency(), () => this.loop.receiveFailed(call, new NoAnswerError("lost"), this.now));
    } else {
      this.#later(this.#latency(), () => {
        for (const { message_id } of messages) this.broughtAt.set(message_id, this.now);
        this.loop.received(call, messages, this.now);
      });
    }
  }

  #lease(call: Receive): Message[] {
    const { fifo } = this.settings;
    const locked = new Set(this.jobs.filter((job) => fifo && job.isLeased(this.now)).map((job) => job.group));
    const chosen: Job[] = [];
    for (const job of this.jobs) {
      if (fifo && (locked.has(job.group) || job.isDone)) continue;
      if (job.isReady(this.now) && chosen.length < call.max) chosen.push(job);
      else if (fifo) locked.add(job.group);
    }
    return chosen.map((job) => this.#leaseOne(job, call.visibility));
  }

  #leaseOne(job: Job, visibility: number): Message {
    job.expiries += job.handle === undefined ? 0 : 1;
    job.receives += 1;
    job.handle = `${job.id}/${job.receives}`;
    job.leasedAt = this.now;
    job.visibleAt = this.now + visibility;
    return message(job.id, {
      ends: job.visibleAt - START,
      receipt_handle: job.handle,
      receive_count: job.receives,
      ...(job.group !== undefined && { group_id: job.group }),
    });
  }

  #beginSettle(call: Settle): void {
    const leases = leasesOf(call);
    check(leases.length > 0 && leases.length <= 100, "it settles nothing, or too much");
    check(new Set(leases).size === leases.length, "a lease is in a call twice");
    check(!leases.some((lease) => this.#inCall.has(lease.number)), "a lease is in two calls at once");
    check(!call.extended.some((lease) => this.#acked.has(lease.number)), "it extends after it has acked");
    for (const lease of leases) this.#inCall.add(lease.number);
    for (const lease of call.acked) this.#acked.add(lease.number);
    this.settles.push(call);
    const lost = this.#happens(this.weather.lostRequests);
    const { slow } = this.weather;
    const there = slow && slow[0] === this.settles.length ? slow[1] : this.#latency();
    const back = this.#latency();
    if (there + back > call.timeout || lost) {
      if (!lost) this.#later(there, () => void this.#settle(call));
      this.#later(call.timeout, () => this.#settleFailed(call, new NoAnswerError("late")));
    } else {
      this.#later(there, () => this.#answerSettle(call, back));
    }
  }

  #answerSettle(call: Settle, back: number): void {
    if (this.#isDown()) {
      const failure = this.#unavailable();
      this.#later(back, () => this.#settleFailed(call, failure));
      return;
    }
    const answer = this.#settle(call);
    if (this.#happens(this.weather.lostAnswers)) {
      this.#later(back, () => this.#settleFailed(call, new NoAnswerError("lost")));
    } else {
      this.#later(back, () => this.#settled(call, answer));
    }
  }

  #settled(call: Settle, answer: Settled): void {
    for (const lease of leasesOf(call)) this.#inCall.delete(lease.number);
    this.loop.settled(call, answer, this.now);
  }

  #settleFailed(call: Settle, failure: unknown): void {
    for (const lease of leasesOf(call)) this.#inCall.delete(lease.number);
    this.loop.settleFailed(call, failure, this.now);
  }

  #settle(call: Settle): Settled {
    const wishes = settleBody(call).extend;
    return {
      ack: call.acked.map((lease) => this.#ack(lease)),
      retry: call.givenBack.map((lease) => this.#giveBack(lease, lease.delay)),
      extend: call.extended.map((lease, place) => this.#extend(lease, wishes[place]?.visibility ?? Number.NaN)),
    };
  }

  #ack(lease: Lease): SettleResult {
    const job = this.#job(lease);
    const refusal = this.#refusal(job, lease);
    // On standard an ack that comes too late is as good as any.
    if (refusal && (refusal === UNAVAILABLE || this.settings.fifo)) return refusal;
    check(job.handled > 0, "it acks what was not handled");
    job.isDone = true;
    return OK;
  }

  #giveBack(lease: Lease, delay: number): SettleResult {
    const job = this.#job(lease);
    const refusal = this.#refusal(job, lease);
    if (refusal) return refusal;
    this.givenBack.push(job.id);
    job.handle = undefined;
    job.visibleAt = this.now + delay;
    return OK;
  }

  #extend(lease: Lease, visibility: number): SettleResult {
    const job = this.#job(lease);
    check(visibility >= 1 && visibility <= this.settings.visibility, "it extends by what is no lease");
    const refusal = this.#refusal(job, lease);
    if (refusal) return refusal;
    this.extensions += 1;
    job.visibleAt = Math.min(this.now + visibility, job.leasedAt + MAX_LEASE_SECONDS);
    return OK;
  }

  #refusal(job: Job, lease: Lease): SettleResult | undefined {
    if (this.#happens(this.weather.refusedEntries)) return UNAVAILABLE;
    return job.handle === lease.handle && job.isLeased(this.now) ? undefined : EXPIRED;
  }

  #job(lease: Lease): Job {
    return this.jobs.find((job) => job.id === lease.delivery.message_id) as Job;
  }
}

function check(isSo: boolean, otherwise: string): void {
  if (!isSo) expect.fail(otherwise);
}
