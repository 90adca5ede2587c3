/** Logs and tells what happens, one thing after the other, so that a hook that waits delays no lease. */

import { HOOK_SECONDS } from "../constants.js";
import { type ConsumeEvent, type Logger, writeLog } from "./events.js";

/** Is told what happens in a loop; nothing waits for it, and what it throws is logged. */
export type Hook = (event: ConsumeEvent) => unknown;

export class Hooks {
  readonly #hook: Hook | undefined;
  readonly #logger: Logger;
  #told: Promise<void> = Promise.resolve();

  constructor(hook: Hook | undefined, logger: Logger) {
    this.#hook = hook;
    this.#logger = logger;
  }

  tell(event: ConsumeEvent): void {
    writeLog(this.#logger, event);
    if (this.#hook) this.#told = this.#told.then(() => this.#tellHook(event));
  }

  /** Wait until everything is told, but not for a hook that has stopped. */
  async close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, HOOK_SECONDS * 1000);
    });
    await Promise.race([this.#told, patience]);
    clearTimeout(timer);
  }

  async #tellHook(event: ConsumeEvent): Promise<void> {
    try {
      await this.#hook?.(event);
    } catch (error) {
      this.#logger.error(`naive: the hook failed on ${event.kind}:`, error);
    }
  }
}
