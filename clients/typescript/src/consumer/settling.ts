/** Which leases go into a settle call, and when: few calls, none too late, and patience with a server that fails. */

import {
  LEAST_TIMEOUT_SECONDS,
  LINGER_SECONDS,
  LONGEST_PAUSE_SECONDS,
  MAX_SETTLE_ENTRIES,
  SETTLE_CALLS,
  TIMEOUT_SECONDS,
} from "../constants.js";
import { backoff } from "../retries.js";
import { leasesOf, type Settle } from "./commands.js";
import type { Fate, Lease } from "./lease.js";

/** A call, or a pause, gets this part of the time that the shortest lease has left: there is time for more after it. */
const PART = 3;

/** The calls that ack, give back and extend. */
export class Settling {
  failures = 0;
  readonly #chance: () => number;
  readonly #underWay = new Set<Settle>();
  #notBefore = Number.NEGATIVE_INFINITY;

  constructor(chance: () => number) {
    this.#chance = chance;
  }

  /** The call to make now, if any; `alone` says that nothing that is still running could join it soon. */
  nextCall(leases: readonly Lease[], alone: boolean, now: number): Settle | undefined {
    if (this.nextAt(leases, alone) > now) return undefined;
    const chosen = leases
      .filter((lease) => !lease.inCall && lease.mayJoin(now))
      .sort((one, other) => one.end - other.end)
      .slice(0, MAX_SETTLE_ENTRIES)
      .sort((one, other) => one.number - other.number);
    const those = (fate: Fate) => chosen.filter((lease) => lease.fate === fate);
    const call: Settle = {
      kind: "settle",
      acked: those("ack"),
      givenBack: those("give_back"),
      extended: those("keep"),
      at: now,
      timeout: timeoutOf(leases, now),
    };
    this.#underWay.add(call);
    for (const lease of chosen) lease.inCall = true;
    return call;
  }

  /** When the next call is due. */
  nextAt(leases: readonly Lease[], alone: boolean): number {
    if (this.#underWay.size >= (this.failures ? 1 : SETTLE_CALLS)) return Number.POSITIVE_INFINITY;
    const linger = alone ? 0 : LINGER_SECONDS;
    return Math.max(least(leases.filter((lease) => !lease.inCall).map((lease) => lease.due(linger))), this.#notBefore);
  }

  /** The server took the call, whatever it said of each lease in it. */
  answered(call: Settle): void {
    this.#end(call);
    this.failures = 0;
    this.#notBefore = Number.NEGATIVE_INFINITY;
  }

  /** The call failed as a whole, and the server asked for so many seconds of patience. */
  failed(call: Settle, asked: number, leases: readonly Lease[], now: number): void {
    this.#end(call);
    this.failures += 1;
    const pause = Math.min(asked, LONGEST_PAUSE_SECONDS) + backoff(this.failures, this.#chance());
    this.#notBefore = now + inTime(pause, asked, leases, now);
  }

  /** The server could not do this one at the moment. */
  refused(lease: Lease, now: number): void {
    lease.attempts += 1;
    lease.notBefore = now + inTime(backoff(lease.attempts, this.#chance()), 0, [lease], now);
  }

  #end(call: Settle): void {
    this.#underWay.delete(call);
    for (const lease of leasesOf(call)) lease.inCall = false;
  }
}

/** The least of them; never, when there is none. */
export function least(times: Iterable<number>): number {
  let found = Number.POSITIVE_INFINITY;
  for (const time of times) found = Math.min(found, time);
  return found;
}

/** How long a call may take: none that waits for its place, or has to be made again, comes too late. */
function timeoutOf(leases: readonly Lease[], now: number): number {
  return Math.max(LEAST_TIMEOUT_SECONDS, Math.min(TIMEOUT_SECONDS, left(leases, now) / PART));
}

/** The pause, shortened where a lease would end meanwhile; what the server asked for gives way last. */
function inTime(pause: number, asked: number, leases: readonly Lease[], now: number): number {
  const time = left(leases, now);
  return Math.max(Math.min(pause, time / PART), Math.min(asked, time / 2), 0);
}

/** How long it is until the first of those that are kept is lost. */
function left(leases: readonly Lease[], now: number): number {
  return least(leases.filter((lease) => lease.fate === "keep").map((lease) => lease.lostAt - now));
}
