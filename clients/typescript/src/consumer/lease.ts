/** One leased message: until when it is ours, and what is to become of it. */

import { LOST_MARGIN_SECONDS, MAX_LEASE_SECONDS } from "../constants.js";
import type { Message } from "../models.js";
import { type Delivery, deliver } from "./delivery.js";

// An extension is due when half of the lease is over, and goes along with another call a little earlier.
const DUE = 0.5;
const WELCOME = 0.6;

/** What is to become of a message. */
export type Fate = "keep" | "ack" | "give_back";

/** A message that was received and is not settled yet. All times are of one monotonic clock, in seconds. */
export class Lease {
  /** Its place in the order of arrival. */
  readonly number: number;
  readonly delivery: Delivery;
  readonly visibility: number;
  /** When it is over, unless it is extended. No earlier than that: it is counted from before the server did it. */
  end: number;
  fate: Fate = "keep";
  /** How long it stays hidden when it is given back. */
  delay = 0;
  /** How long the handler took, once it has ended. */
  seconds: number | undefined;
  /** Whether a call about it is under way: there is never a second one beside it. */
  inCall = false;
  attempts = 0;
  /** When it may be in a call again, after one that did not take it. */
  notBefore = 0;
  /** Whether its settling may have worked although the call failed. */
  inDoubt = false;
  readonly #abort = new AbortController();
  readonly #lastEnd: number;
  #since = 0;
  #startedAt: number | undefined;

  /** The lease of a message that was received at this time. */
  constructor(number: number, message: Message, maxReceives: number | null, visibility: number, at: number) {
    this.number = number;
    this.visibility = visibility;
    this.delivery = deliver(message, maxReceives, this.#abort.signal);
    this.end = at + visibility;
    this.#lastEnd = at + MAX_LEASE_SECONDS - 1;
  }

  get handle(): string {
    return this.delivery.receipt_handle;
  }

  get group(): string | undefined {
    return this.delivery.group_id;
  }

  /** Whether it is to be handled and that has not begun. */
  get isWaiting(): boolean {
    return this.fate === "keep" && this.#startedAt === undefined;
  }

  /** When a kept lease that could not be extended counts as lost: before it is, so that nobody works on in it. */
  get lostAt(): number {
    return this.end - Math.min(LOST_MARGIN_SECONDS, this.visibility / 10);
  }

  /** When it should be in a call; what is settled may wait so long for company. */
  due(linger: number): number {
    return this.fate === "keep" ? this.#extendable(DUE) : Math.max(this.#since + linger, this.notBefore);
  }

  /** Whether it goes along in a call that is made anyway. */
  mayJoin(now: number): boolean {
    return now >= (this.fate === "keep" ? this.#extendable(WELCOME) : this.notBefore);
  }

  /** The seconds that an extension asks for. */
  extension(now: number): number {
    return Math.min(this.visibility, Math.floor(this.#lastEnd - now));
  }

  /** Count from when the extension was asked for, which was before it was done. */
  extend(at: number): void {
    this.end = at + this.extension(at);
    this.attempts = 0;
  }

  /** Decide what becomes of it. */
  settle(fate: Fate, now: number, delay = 0): void {
    this.fate = fate;
    this.#since = now;
    this.delay = delay;
    this.attempts = 0;
    this.notBefore = now;
  }

  /** A call to settle it failed, and may have worked: given back, it then is anybody's after its delay. */
  doubt(askedAt: number): void {
    this.inDoubt = true;
    if (this.fate === "give_back") this.end = Math.min(this.end, askedAt + this.delay);
  }

  start(now: number): void {
    this.#startedAt = now;
  }

  finish(now: number): void {
    this.seconds = now - (this.#startedAt ?? now);
  }

  /** Tell the handler that the message is no longer its own. */
  lose(): void {
    this.#abort.abort();
  }

  /** When only this part of the lease is left; never, when it cannot get any longer. */
  #extendable(left: number): number {
    if (this.end > this.#lastEnd - 1) return Number.POSITIVE_INFINITY;
    return Math.max(this.end - this.visibility * left, this.notBefore);
  }
}
