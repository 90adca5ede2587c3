/** The protection of the ECS task that this process runs in, from being ended by a scale-in. */

import type { Fetch } from "../connection.js";
import { ECS_AGENT_VARIABLE, PROTECTION_TIMEOUT_SECONDS } from "../constants.js";
import type { Logger } from "./events.js";

const holders = new Set<Protection>();
/** One request after the other: an end must not overtake a beginning. */
let last: Promise<unknown> = Promise.resolve();

/** What one loop asks of the agent of its task, which stays protected while any loop of the process needs it. */
export class Protection {
  readonly #url: string;
  readonly #fetch: Fetch;
  readonly #logger: Logger;

  constructor(agentUri: string, logger: Logger, fetch: Fetch = globalThis.fetch) {
    this.#url = `${agentUri.replace(/\/+$/, "")}/task-protection/v1/state`;
    this.#fetch = fetch;
    this.#logger = logger;
  }

  /** The protection of the task that the environment speaks of, if there is one. */
  static ofThisTask(logger: Logger): Protection | undefined {
    const agentUri = process.env[ECS_AGENT_VARIABLE];
    return agentUri ? new Protection(agentUri, logger) : undefined;
  }

  /** Protect the task for so many minutes, or no longer; a failure is logged, and is no reason not to work. */
  async change(minutes: number | undefined): Promise<boolean> {
    const changed = last.then(() => this.#change(minutes));
    last = changed;
    return changed;
  }

  /** Need it no longer. */
  close(): void {
    holders.delete(this);
  }

  async #change(minutes: number | undefined): Promise<boolean> {
    if (minutes !== undefined) {
      holders.add(this);
      return this.#put({ ProtectionEnabled: true, ExpiresInMinutes: minutes });
    }
    holders.delete(this);
    return holders.size > 0 || this.#put({ ProtectionEnabled: false });
  }

  async #put(state: Record<string, unknown>): Promise<boolean> {
    const reason = await this.#refusalOf(JSON.stringify(state));
    if (reason === undefined) return true;
    this.#logger.warn(`naive: the task's protection could not be changed to ${JSON.stringify(state)}: ${reason}`);
    return false;
  }

  /** Why the agent did not do it; nothing when it did. */
  async #refusalOf(body: string): Promise<string | undefined> {
    const headers = { "Content-Type": "application/json" };
    const signal = AbortSignal.timeout(PROTECTION_TIMEOUT_SECONDS * 1000);
    try {
      const answer = await this.#fetch(this.#url, { method: "PUT", headers, body, signal });
      const content = await answer.text();
      // The agent may answer 200 and that ECS refused.
      return answer.ok && "protection" in JSON.parse(content) ? undefined : `${answer.status} ${content.slice(0, 500)}`;
    } catch (fault) {
      return String(fault);
    }
  }
}
