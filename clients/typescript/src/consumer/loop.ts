/**
 * A consumer's decisions, without I/O, clock or timers: what happens and the time go in, commands come out.
 *
 * The time is monotonic. Times of the server are compared among themselves, never with it.
 */

import {
  GIVE_BACK_SECONDS,
  HANDLER_BACKOFF_CAP_SECONDS,
  HANDLER_BACKOFF_SECONDS,
  MAX_LEASE_SECONDS,
} from "../constants.js";
import {
  BadRequestError,
  ForbiddenError,
  NaiveError,
  NotFoundError,
  UnauthorizedError,
  UnexpectedAnswerError,
} from "../errors.js";
import type { Message, Settled, SettleResult } from "../models.js";
import { entryMayRepeat, growing, surelyNotAccepted } from "../retries.js";
import { type Command, leasesOf, type Protect, type Receive, type Settle, type Start } from "./commands.js";
import { isRetry } from "./delivery.js";
import { type ConsumeEvent, type ConsumeEventKind, type Counts, count, noCounts } from "./events.js";
import { type Fate, Lease } from "./lease.js";
import { Polls } from "./polls.js";
import type { Settings } from "./settings.js";
import { least, Settling } from "./settling.js";
import { Shelter } from "./shelter.js";

const NEVER = Number.POSITIVE_INFINITY;

/** After these it is of no use to go on: the next call would fail as well. */
const FINAL = [BadRequestError, ForbiddenError, NotFoundError, UnauthorizedError];

/**
 * One consumer of one queue, from its first receive to the end of its drain.
 *
 * `step` says what to begin now, `wakeAt` when to ask again if nothing happens before, `isOver` when to stop asking.
 */
export class Loop {
  readonly counts: Counts = noCounts();
  /** Why the loop stopped by itself, where it had to. */
  failure: { error: unknown } | undefined;
  isOver = false;
  readonly #settings: Settings;
  readonly #chance: () => number;
  /** What is not settled, by number: in the order of arrival. */
  readonly #leases = new Map<number, Lease>();
  /** What a handler works on, also when it is ours no more. */
  readonly #running = new Map<number, Lease>();
  readonly #settling: Settling;
  readonly #polls: Polls;
  readonly #shelter: Shelter;
  #number = 0;
  #events: ConsumeEvent[] = [];
  #busyAt: number;
  /** The end of the drain. */
  #deadline = NEVER;
  /** The end of giving back what is left then. */
  #lastMoment = NEVER;

  constructor(settings: Settings, chance: () => number, now: number) {
    this.#settings = settings;
    this.#chance = chance;
    this.#settling = new Settling(chance);
    this.#polls = new Polls(settings.max, settings.visibility, chance);
    this.#shelter = new Shelter(settings.isProtected);
    this.#busyAt = now;
  }

  /** Begin the drain: give back what waits, work on what an open receive still brings, begin no other. */
  stop(now: number): void {
    this.#deadline = Math.min(this.#deadline, now + this.#settings.drainSeconds);
    for (const lease of this.#leases.values()) {
      if (lease.isWaiting) lease.settle("give_back", now);
    }
  }

  /** Give everything back, also what handlers are working on. */
  stopAtOnce(now: number): void {
    this.stop(now);
    this.#deadline = Math.min(this.#deadline, now);
    this.#lastMoment = Math.min(this.#lastMoment, now + GIVE_BACK_SECONDS);
    for (const lease of this.#leases.values()) {
      if (lease.fate !== "keep") continue;
      lease.settle("give_back", now);
      lease.lose();
    }
  }

  /** What to begin now. */
  step(now: number): Command[] {
    this.#lookAtTheClock(now);
    return this.isOver ? [] : [...this.#commands(now)];
  }

  /** When there will be something to do, if nothing happens before. */
  wakeAt(): number {
    const leases = this.#unsettled;
    return least([
      ...leases.filter((lease) => lease.fate === "keep").map((lease) => lease.lostAt),
      ...leases.filter((lease) => lease.fate === "give_back" && !lease.inCall).map((lease) => lease.end),
      this.#settling.nextAt(leases, this.#isAlone),
      this.#polls.nextAt(this.#room),
      this.#shelter.nextAt(this.#isSheltering, this.#isEnding),
      this.#lastMoment,
      this.#givesAllBack ? NEVER : this.#deadline,
    ]);
  }

  /** What has happened since this was last asked. */
  takeEvents(): ConsumeEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** A receive brought these messages. */
  received(call: Receive, messages: readonly Message[], now: number): void {
    this.#polls.answered(call, messages.length);
    // The server began the leases while it still waited, and not all of them at the same moment.
    const began = Math.min(now, call.at + call.wait);
    const ends = messages.map((message) => Date.parse(message.lease_expires_at) / 1000);
    const latest = Math.max(...ends);
    for (const [place, message] of messages.entries()) {
      const age = latest - (ends[place] ?? latest);
      this.#number += 1;
      const lease = new Lease(this.#number, message, this.#settings.maxReceives, call.visibility, began - age);
      this.#leases.set(lease.number, lease);
      this.#tell("received", { message: lease.delivery });
    }
    if (messages.length > 0 || this.#isBusy) {
      this.#busyAt = now;
    } else if (this.#settings.idleExit !== undefined && now >= this.#busyAt + this.#settings.idleExit) {
      this.stop(now);
    }
    // Otherwise it is worked on: were it given back, workers that end together would hand it on until it is dead.
    if (this.#givesAllBack || this.failure) this.stop(now);
  }

  /** A receive failed; it may have leased messages, which come back by themselves. */
  receiveFailed(call: Receive, failure: unknown, now: number): void {
    this.#busyAt = now;
    this.#polls.failed(call, askedBy(failure), now);
    this.#apiError(failure, now);
  }

  /** A settle call was answered, lease by lease. */
  settled(call: Settle, answer: Settled, now: number): void {
    const answers: [Fate, readonly Lease[], readonly SettleResult[]][] = [
      ["ack", call.acked, answer.ack],
      ["give_back", call.givenBack, answer.retry],
      ["keep", call.extended, answer.extend],
    ];
    if (answers.some(([, leases, results]) => leases.length !== results.length)) {
      this.settleFailed(call, new UnexpectedAnswerError("The server did not answer for each message."), now);
      return;
    }
    this.#settling.answered(call);
    for (const [fate, leases, results] of answers) {
      for (const [place, lease] of leases.entries()) {
        if (this.#leases.has(lease.number)) this.#settledOne(lease, fate, results[place] ?? {}, call.at, now);
      }
    }
  }

  /** A settle call failed as a whole. */
  settleFailed(call: Settle, failure: unknown, now: number): void {
    this.#settling.failed(call, askedBy(failure), this.#unsettled, now);
    if (!(failure instanceof NaiveError && surelyNotAccepted(failure))) {
      for (const lease of [...call.acked, ...call.givenBack]) lease.doubt(call.at);
    }
    if (!this.#apiError(failure, now)) return;
    for (const lease of leasesOf(call)) {
      if (this.#leases.has(lease.number)) this.#lose(lease, now);
    }
  }

  /** A handler has ended, well or with an error. */
  finished(start: Start, failure: { error: unknown } | undefined, now: number): void {
    const { lease } = start;
    lease.finish(now);
    this.#running.delete(lease.number);
    this.#busyAt = now;
    if (failure && !isRetry(failure.error)) {
      this.#tell("failed", { message: lease.delivery, ...secondsOf(lease), error: failure.error });
    }
    if (!this.#leases.has(lease.number) || lease.fate !== "keep") return;
    if (!failure) {
      lease.settle("ack", now);
    } else {
      lease.settle("give_back", now, this.#delay(lease, failure.error));
      this.#giveBackBehind(lease, now);
    }
  }

  /** The protection was given, or ended, or could not be. */
  protected(call: Protect, granted: boolean, now: number): void {
    this.#shelter.answered(call, granted, now);
  }

  /** Do what no event but the time brings about. */
  #lookAtTheClock(now: number): void {
    if (now >= this.#deadline && !this.#givesAllBack) this.stopAtOnce(now);
    for (const lease of this.#unsettled) {
      if (lease.fate === "keep" && now >= lease.lostAt) {
        this.#lose(lease, now);
      } else if (lease.fate === "give_back" && now >= lease.end && !lease.inCall) {
        this.#end(lease, "given_back", now);
      } else if (now >= this.#lastMoment) {
        this.#end(lease, lease.fate === "give_back" ? "given_back" : "lost", now);
      }
    }
    this.isOver = this.isOver || this.#hasEnded(now);
    this.counts.unfinished = this.isOver ? this.#running.size : 0;
  }

  #hasEnded(now: number): boolean {
    if (now >= this.#lastMoment) return true;
    if (this.#leases.size > 0 || !this.#shelter.isDown) return false;
    return this.#givesAllBack || (this.#isEnding && this.#running.size === 0);
  }

  *#commands(now: number): Generator<Command> {
    const protect = this.#shelter.nextCall(this.#isSheltering, this.#isEnding, now);
    if (protect) yield protect;
    yield* this.#starts(now);
    for (let settle = this.#nextSettle(now); settle; settle = this.#nextSettle(now)) yield settle;
    for (let receive = this.#nextReceive(now); receive; receive = this.#nextReceive(now)) yield receive;
  }

  *#starts(now: number): Generator<Start> {
    if (!this.#shelter.letsStart) return;
    for (const lease of this.#unsettled) {
      if (lease.isWaiting && this.#running.size < this.#settings.concurrency && this.#mayStart(lease)) {
        lease.start(now);
        this.#running.set(lease.number, lease);
        this.#tell("started", { message: lease.delivery });
        yield { kind: "start", lease };
      }
    }
  }

  /** Whether nothing that has to come first is unsettled, or still worked on after it was lost. */
  #mayStart(lease: Lease): boolean {
    return ![...this.#running.values(), ...this.#leases.values()].some(
      (other) =>
        other.number < lease.number &&
        (other.delivery.message_id === lease.delivery.message_id ||
          (this.#settings.fifo && other.group === lease.group)),
    );
  }

  #nextSettle(now: number): Settle | undefined {
    return this.#settling.nextCall(this.#unsettled, this.#isAlone, now);
  }

  #nextReceive(now: number): Receive | undefined {
    return this.#polls.nextCall(this.#room, this.#wait(now), now);
  }

  /** One lease was acked, given back or extended, or was not. */
  #settledOne(lease: Lease, fate: Fate, result: SettleResult, at: number, now: number): void {
    const code = result.error?.code;
    if (code === undefined && fate === "keep") {
      lease.extend(at);
      this.#tell("extended", { message: lease.delivery });
    } else if (code === undefined) {
      this.#end(lease, fate === "ack" ? "done" : "given_back", now);
    } else if (entryMayRepeat(code)) {
      this.#settling.refused(lease, now);
    } else if (lease.inDoubt && fate === "ack" && now < lease.end) {
      this.#end(lease, "done", now); // what but the try before could have ended a lease that still runs?
    } else if (lease.inDoubt && fate === "give_back") {
      this.#end(lease, "given_back", now);
    } else {
      this.#lose(lease, now);
    }
  }

  /** It is ours no more, or nothing more can be done for it. */
  #lose(lease: Lease, now: number): void {
    lease.lose();
    this.#end(lease, "lost", now);
  }

  /** What became of it is known. On fifo nothing that was received behind it overtakes what is not done. */
  #end(lease: Lease, kind: "done" | "given_back" | "lost", now: number): void {
    this.#leases.delete(lease.number);
    this.#busyAt = now;
    this.#tell(kind, {
      message: lease.delivery,
      ...secondsOf(lease),
      ...(kind === "given_back" && { delay_seconds: lease.delay }),
    });
    if (kind !== "done") this.#giveBackBehind(lease, now);
  }

  #giveBackBehind(lease: Lease, now: number): void {
    if (!this.#settings.fifo) return;
    for (const other of this.#leases.values()) {
      if (other.isWaiting && other.number > lease.number && other.group === lease.group) other.settle("give_back", now);
    }
  }

  /** How long a message that failed stays hidden. */
  #delay(lease: Lease, error: unknown): number {
    if (isRetry(error) && error.after !== undefined && !Number.isNaN(error.after)) {
      return Math.ceil(Math.min(Math.max(0, error.after), MAX_LEASE_SECONDS));
    }
    if (lease.delivery.last_chance) return 0; // it only moves to the dead letters, and on fifo its group waits for that
    const receives = lease.delivery.receive_count;
    return Math.ceil(growing(HANDLER_BACKOFF_SECONDS, HANDLER_BACKOFF_CAP_SECONDS, receives, this.#chance()));
  }

  /** Tell of a failed call; the answer is whether all others would fail too, so that the loop stops. */
  #apiError(failure: unknown, now: number): boolean {
    this.#tell("api_error", { error: failure });
    const isFinal = !(failure instanceof NaiveError) || FINAL.some((kind) => failure instanceof kind);
    if (isFinal) {
      this.failure ??= { error: failure };
      this.stop(now);
    }
    return isFinal;
  }

  #tell(kind: ConsumeEventKind, more: Omit<ConsumeEvent, "kind">): void {
    const event: ConsumeEvent = { kind, ...more };
    count(this.counts, event);
    this.#events.push(event);
  }

  /** How long a receive may wait: not longer than until the loop has been idle for long enough. */
  #wait(now: number): number {
    if (this.#settings.idleExit === undefined) return this.#settings.wait;
    const idle = this.#isBusy ? 0 : now - this.#busyAt;
    return Math.min(this.#settings.wait, Math.max(1, Math.ceil(this.#settings.idleExit - idle)));
  }

  get #unsettled(): Lease[] {
    return [...this.#leases.values()];
  }

  /** How many more messages could be started at once, were they there. */
  get #room(): number {
    // What cannot be settled is not added to.
    if (this.#isStopping || (this.#settling.failures > 0 && this.#leases.size > 0)) return 0;
    const held = new Set([...this.#leases.keys(), ...this.#running.keys()]);
    return this.#settings.concurrency - held.size;
  }

  /** Whether no more messages are wanted. */
  get #isStopping(): boolean {
    return this.#deadline < NEVER;
  }

  /** Whether no more messages will come. */
  get #isEnding(): boolean {
    return this.#isStopping && !this.#polls.areUnderWay;
  }

  get #givesAllBack(): boolean {
    return this.#lastMoment < NEVER;
  }

  get #isBusy(): boolean {
    return this.#leases.size > 0 || this.#running.size > 0;
  }

  /** Whether there is work that must not be cut off. */
  get #isSheltering(): boolean {
    return this.#leases.size > 0 || (this.#running.size > 0 && !this.#givesAllBack);
  }

  /** Whether nothing runs that could soon add to a settle call. */
  get #isAlone(): boolean {
    return this.#isStopping || this.#running.size === 0;
  }
}

function secondsOf(lease: Lease): { seconds?: number } {
  return lease.seconds === undefined ? {} : { seconds: lease.seconds };
}

/** How long the server wants to be left alone. */
function askedBy(failure: unknown): number {
  return (failure instanceof NaiveError ? failure.retry_after : undefined) ?? 0;
}
