/** What happens in a loop, for metrics and logs, and the sums of it. */

import type { Delivery } from "./delivery.js";

export type ConsumeEventKind =
  | "received"
  | "started"
  | "done"
  | "failed"
  | "given_back"
  | "extended"
  | "lost"
  | "api_error";

/** One thing that happened. Every message that was `received` ends as `done`, `given_back` or `lost`, once. */
export interface ConsumeEvent {
  readonly kind: ConsumeEventKind;
  /** Whose event it is; nobody's is an `api_error`. */
  readonly message?: Delivery;
  /** How long the handler took, once it has ended. */
  readonly seconds?: number;
  /** How long a message that was given back stays hidden. */
  readonly delay_seconds?: number;
  /** What the handler threw, or what a call failed with. */
  readonly error?: unknown;
}

/** How often each thing happened in a loop that has ended. */
export interface Counts {
  received: number;
  started: number;
  /** Handled and acked. */
  done: number;
  /** Handlers that threw something else than `Retry`; their messages are among those given back or lost. */
  failed: number;
  given_back: number;
  extended: number;
  /** Leases that ended before the message was done or given back. */
  lost: number;
  api_errors: number;
  /** Handlers that still ran when the loop ended: their messages were given back without waiting for them. */
  unfinished: number;
}

/** What a loop writes to; the console is one. */
export type Logger = Pick<Console, "warn" | "error">;

export function noCounts(): Counts {
  return {
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
}

/** Count an event. */
export function count(counts: Counts, event: ConsumeEvent): void {
  counts[event.kind === "api_error" ? "api_errors" : event.kind] += 1;
}

/** Log what somebody has to know of. */
export function writeLog(logger: Logger, event: ConsumeEvent): void {
  const id = event.message?.message_id;
  if (event.kind === "api_error") {
    logger.warn(`naive: a call failed: ${event.error}`);
  } else if (event.kind === "failed") {
    logger.error(`naive: the handler failed on message ${id}:`, event.error);
  } else if (event.kind === "lost") {
    logger.warn(`naive: the lease of message ${id} ended before its work was settled`);
  }
}
