/** When to receive, and how much: one long poll while there is little, more at once while there is plenty. */

import { BESIDE_WAIT, EMPTY_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, POLL_CALLS } from "../constants.js";
import { backoff } from "../retries.js";
import type { Receive } from "./commands.js";

/** The receive calls. */
export class Polls {
  readonly #max: number;
  readonly #visibility: number;
  readonly #chance: () => number;
  readonly #underWay = new Set<Receive>();
  #atOnce = 1;
  #failures = 0;
  #notBefore = Number.NEGATIVE_INFINITY;

  constructor(max: number, visibility: number, chance: () => number) {
    this.#max = max;
    this.#visibility = visibility;
    this.#chance = chance;
  }

  get areUnderWay(): boolean {
    return this.#underWay.size > 0;
  }

  /** The call to make now, if any, when so many more messages could be started at once. */
  nextCall(room: number, wait: number, now: number): Receive | undefined {
    if (this.nextAt(room) > now) return undefined;
    const call: Receive = {
      kind: "receive",
      max: Math.min(this.#free(room), this.#max),
      // One waits for what is to come. Those beside it take what is there: waiting, they would be in others' way.
      wait: this.areUnderWay ? Math.min(wait, BESIDE_WAIT) : wait,
      visibility: this.#visibility,
      at: now,
    };
    this.#underWay.add(call);
    return call;
  }

  /** When the next call is due. */
  nextAt(room: number): number {
    const isFull = this.#free(room) < 1 || this.#underWay.size >= this.#atOnce;
    return isFull ? Number.POSITIVE_INFINITY : this.#notBefore;
  }

  /** A call brought so many messages. As many as it asked for: there may be more, so more calls ask for them. */
  answered(call: Receive, number: number): void {
    this.#underWay.delete(call);
    this.#failures = 0;
    this.#atOnce = number >= call.max ? Math.min(2 * this.#atOnce, POLL_CALLS) : 1;
    // A server that does not wait, although it has nothing, is not asked all the time.
    this.#notBefore = number > 0 ? Number.NEGATIVE_INFINITY : call.at + EMPTY_PAUSE_SECONDS;
  }

  /** A call failed, and the server asked for so many seconds of patience. */
  failed(call: Receive, asked: number, now: number): void {
    this.#underWay.delete(call);
    this.#failures += 1;
    this.#atOnce = 1;
    this.#notBefore = now + Math.min(asked, LONGEST_PAUSE_SECONDS) + backoff(this.#failures, this.#chance());
  }

  /** The part of the room that no call under way may fill. */
  #free(room: number): number {
    return [...this.#underWay].reduce((left, call) => left - call.max, room);
  }
}
