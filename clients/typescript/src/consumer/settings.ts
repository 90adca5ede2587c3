/** What a loop is told once, when it is made. */

import {
  CONCURRENCY,
  DRAIN_SECONDS,
  LEAST_VISIBILITY,
  MAX_LEASE_SECONDS,
  MAX_RECEIVE,
  MAX_WAIT,
} from "../constants.js";
import { InvalidInputError } from "../errors.js";
import type { Queue } from "../models.js";

/** The numbers that a loop works by. */
export interface Numbers {
  /** How many messages are leased and worked on at the same time (1). */
  concurrency?: number;
  /** How many one receive takes at most: 1–10 (10; 1 on fifo with dead letters). */
  max?: number;
  /** How many seconds a receive waits: 0–20 (20). */
  wait?: number;
  /** How many seconds a lease lasts before it is extended: 5–43200 (the queue's). */
  visibility?: number;
  /** How many seconds handlers may go on once the loop is stopped (25). */
  drain_seconds?: number;
  /** After how many seconds without a message the loop stops by itself (never). */
  idle_exit?: number;
}

/** How a loop works on its queue. */
export interface Settings {
  readonly fifo: boolean;
  /** After how many receives a message becomes a dead letter. */
  readonly maxReceives: number | null;
  readonly concurrency: number;
  readonly max: number;
  readonly wait: number;
  readonly visibility: number;
  readonly drainSeconds: number;
  readonly idleExit: number | undefined;
  /** Whether somebody has to be asked for protection before work starts. */
  readonly isProtected: boolean;
}

/** The settings for a queue: what is left out is chosen to suit it. */
export function settingsOf(queue: Queue, numbers: Numbers, isProtected: boolean): Settings {
  const fifo = queue.type === "fifo";
  const oneByOne = fifo && queue.dlq;
  return {
    fifo,
    maxReceives: queue.max_receive_count,
    concurrency: required("concurrency", numbers.concurrency ?? CONCURRENCY, 1),
    max: required("max", numbers.max ?? (oneByOne ? 1 : MAX_RECEIVE), 1, MAX_RECEIVE),
    wait: required("wait", numbers.wait ?? MAX_WAIT, 0, MAX_WAIT),
    // A shorter lease could end while one slow call is about to extend it.
    visibility: required(
      "visibility",
      numbers.visibility ?? Math.max(LEAST_VISIBILITY, queue.visibility_timeout),
      LEAST_VISIBILITY,
      MAX_LEASE_SECONDS,
    ),
    drainSeconds: required("drain_seconds", numbers.drain_seconds ?? DRAIN_SECONDS, 0),
    idleExit: numbers.idle_exit === undefined ? undefined : required("idle_exit", numbers.idle_exit, 0),
    isProtected,
  };
}

/** Refuse a handler that nothing can be given to: each message would count as failed. */
export function requireHandler(handler: unknown): void {
  if (typeof handler !== "function") throw new InvalidInputError("handler has to be a function of one message.");
}

function required(name: string, value: number, least: number, most = Number.POSITIVE_INFINITY): number {
  if (typeof value === "number" && value >= least && value <= most) return value;
  const span = most < Number.POSITIVE_INFINITY ? `${least} to ${most}` : `at least ${least}`;
  throw new InvalidInputError(`${name} has to be ${span}.`);
}
