/** What a handler is given, and how it gives that back. */

import { InvalidInputError } from "../errors.js";
import type { Message } from "../models.js";

/**
 * Throw it in a handler to give the message back, to be received again after so many seconds.
 *
 * Without a number the delay grows with each receive, as it does after any other error.
 */
export class Retry extends Error {
  readonly after: number | undefined;

  constructor(options: { after?: number } = {}) {
    const { after = 0 } = options;
    if (typeof after !== "number" || after < 0) {
      throw new InvalidInputError("after has to be a number of seconds, at least 0.");
    }
    super(options.after === undefined ? "again later" : `again after ${options.after} s`);
    this.name = "Retry";
    this.after = options.after;
  }
}

/** Whether it is one, by its looks: a program may have this package twice, as ESM and as CJS. */
export function isRetry(error: unknown): error is Retry {
  return error instanceof Error && error.name === "Retry" && "after" in error;
}

/** A message in the hands of a handler. */
export interface Delivery extends Readonly<Message> {
  /** Whether somebody else may have the message by now: it will not be acked, so stop working on it. */
  readonly lost: boolean;
  /** Aborted when the message is lost: hand it on to what your handler waits for. */
  readonly signal: AbortSignal;
  /** Whether the message becomes a dead letter if this fails; null on a queue that has no dead letters. */
  readonly last_chance: boolean | null;
}

/** The message as a handler gets it; `maxReceives` is what its queue allows. */
export function deliver(message: Message, maxReceives: number | null, signal: AbortSignal): Delivery {
  return {
    ...message,
    last_chance: maxReceives === null ? null : message.receive_count >= maxReceives,
    signal,
    get lost() {
      return signal.aborted;
    },
  };
}
