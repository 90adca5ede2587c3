/** What a loop wants done. Whoever carries a command out hands the same command back with what came of it. */

import type { Settle as SettleBody } from "../models.js";
import type { Lease } from "./lease.js";

/** Make one receive call, and do not repeat it. */
export interface Receive {
  readonly kind: "receive";
  readonly max: number;
  readonly wait: number;
  readonly visibility: number;
  /** When it was asked for. */
  readonly at: number;
}

/** Make one settle call, and do not repeat it. */
export interface Settle {
  readonly kind: "settle";
  readonly acked: readonly Lease[];
  readonly givenBack: readonly Lease[];
  readonly extended: readonly Lease[];
  readonly at: number;
  /** After so many seconds without an answer it has failed. */
  readonly timeout: number;
}

/** Run the handler on this lease's message. */
export interface Start {
  readonly kind: "start";
  readonly lease: Lease;
}

/** Have the task protected from being scaled in for so many minutes; without a number end the protection. */
export interface Protect {
  readonly kind: "protect";
  readonly minutes: number | undefined;
}

export type Command = Receive | Settle | Start | Protect;

/** What a settle call says to the server. */
export function settleBody(call: Settle): Required<SettleBody> {
  return {
    ack: call.acked.map((lease) => lease.handle),
    retry: call.givenBack.map((lease) => ({ receipt_handle: lease.handle, delay_seconds: lease.delay })),
    extend: call.extended.map((lease) => ({ receipt_handle: lease.handle, visibility: lease.extension(call.at) })),
  };
}

/** The leases in a settle call. */
export function leasesOf(call: Settle): Lease[] {
  return [...call.acked, ...call.givenBack, ...call.extended];
}
