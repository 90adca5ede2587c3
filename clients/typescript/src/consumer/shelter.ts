/** When a task has to be protected from being scaled in: while it holds messages. */

import { PROTECTION_IDLE_SECONDS, PROTECTION_MINUTES, PROTECTION_RETRY_SECONDS } from "../constants.js";
import type { Protect } from "./commands.js";

/** The calls that begin, renew and end the protection. */
export class Shelter {
  readonly #wanted: boolean;
  #underWay: Protect | undefined;
  #isUp = false;
  #asked = false;
  #notBefore = Number.NEGATIVE_INFINITY;
  #busyAt = Number.NEGATIVE_INFINITY;

  constructor(wanted: boolean) {
    this.#wanted = wanted;
  }

  /** Whether work may start: with protection, or without when it was asked for and not given. */
  get letsStart(): boolean {
    return !this.#wanted || this.#asked;
  }

  /** Whether nothing is left to be ended. */
  get isDown(): boolean {
    return !this.#isUp && this.#underWay === undefined;
  }

  /** The call to make now, if any; `busy` says that messages are held, `ending` that no more will come. */
  nextCall(busy: boolean, ending: boolean, now: number): Protect | undefined {
    if (busy) this.#busyAt = now;
    if (this.nextAt(busy, ending) > now) return undefined;
    this.#asked = this.#asked && busy;
    this.#underWay = { kind: "protect", minutes: busy ? PROTECTION_MINUTES : undefined };
    return this.#underWay;
  }

  /** When the next call is due. */
  nextAt(busy: boolean, ending: boolean): number {
    if (!this.#wanted || this.#underWay) return Number.POSITIVE_INFINITY;
    if (busy) return this.#notBefore;
    if (!this.#isUp) return Number.POSITIVE_INFINITY;
    // Not between one message and the next: the agent does not like to be asked that often.
    return this.#busyAt + (ending ? 0 : PROTECTION_IDLE_SECONDS);
  }

  /** The call was made; what was not granted is asked for again after a while. */
  answered(call: Protect, granted: boolean, now: number): void {
    this.#underWay = undefined;
    this.#asked = this.#isUp = call.minutes !== undefined;
    this.#notBefore =
      call.minutes === undefined
        ? Number.NEGATIVE_INFINITY
        : now + (granted ? (call.minutes * 60) / 2 : PROTECTION_RETRY_SECONDS);
  }
}
