/** When a failed call may be tried again, and after how long; nothing here waits or sends. */

import { BACKOFF_CAP_SECONDS, BACKOFF_SECONDS, LONGEST_RETRY_AFTER_SECONDS, MAX_ATTEMPTS } from "./constants.js";
import { type NaiveError, NoAnswerError, UnreachableError } from "./errors.js";

const TRANSIENT_STATUSES = new Set([408, 429, 500, 502, 503, 504]);
const TRANSIENT_ENTRY_CODES = new Set(["rate_limited", "unavailable"]);
/** No cap is as far away, and no number too large. */
const DOUBLINGS = 60;

/**
 * What a call risks when it is made twice.
 *
 * - `always`: nothing. Reads, acks, and what carries an idempotency key or a deduplication id.
 * - `unless_accepted`: a second message. A plain send is repeated only when the first was surely not accepted.
 * - `unless_run`: messages leased to nobody. A receive is repeated only when the first surely did not run.
 */
export type Repeatable = "always" | "unless_accepted" | "unless_run";

/**
 * Seconds to wait before the next attempt, or nothing where the failure has to be reported.
 *
 * `attempt` counts from 1; `spread` is a random number from 0 to 1 that keeps clients from retrying in step.
 */
export function pauseBeforeRetry(
  repeatable: Repeatable,
  failure: NaiveError,
  attempt: number,
  spread: number,
): number | undefined {
  if (attempt >= MAX_ATTEMPTS || !mayRepeat(repeatable, failure)) return undefined;
  const asked = failure.retry_after ?? 0;
  return asked > LONGEST_RETRY_AFTER_SECONDS ? undefined : asked + backoff(attempt, spread);
}

/** Seconds that double with each attempt, the second half of them at random. */
export function backoff(attempt: number, spread: number): number {
  return growing(BACKOFF_SECONDS, BACKOFF_CAP_SECONDS, attempt, spread);
}

/** The same from another first number up to another cap. */
export function growing(first: number, cap: number, attempt: number, spread: number): number {
  const full = Math.min(cap, first * 2 ** Math.min(attempt - 1, DOUBLINGS));
  return (full * (1 + spread)) / 2;
}

/** Whether an entry of a batch that failed with this code was not accepted and may be sent again. */
export function entryMayRepeat(code: string): boolean {
  return TRANSIENT_ENTRY_CODES.has(code);
}

/** Whether what a failed call carried is known to have had no effect. */
export function surelyNotAccepted(failure: NaiveError): boolean {
  const { status } = failure;
  const refused = status !== undefined && ((status >= 400 && status < 500) || status === 503);
  return refused || failure instanceof UnreachableError;
}

function mayRepeat(repeatable: Repeatable, failure: NaiveError): boolean {
  if (failure instanceof UnreachableError) return true;
  if (repeatable === "unless_run") return failure.status === 429;
  if (repeatable === "unless_accepted") return failure.status === 429 || failure.status === 503;
  return (
    failure instanceof NoAnswerError ||
    (failure.status !== undefined && TRANSIENT_STATUSES.has(failure.status)) ||
    failure.code === "request_in_progress"
  );
}
