/** The way to the server: the one module that sends and waits. */

import * as answers from "./answers.js";
import { type Call, queryOf, ROOT } from "./calls/call.js";
import { MAX_ANSWER_BYTES, TIMEOUT_SECONDS, USER_AGENT } from "./constants.js";
import { ConfigurationError, NaiveError, NoAnswerError, NotFoundError, UnreachableError } from "./errors.js";
import { pauseBeforeRetry } from "./retries.js";

const UNREACHABLE_HINT = "Check the base URL and the network. A stack on this machine is started with `make local`.";

/** With these no byte of the request was sent; any other fault leaves it open. */
const NEVER_SENT = new Set([
  "ECONNREFUSED",
  "EADDRNOTAVAIL",
  "EAI_AGAIN",
  "EAI_FAIL",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "UND_ERR_CONNECT_TIMEOUT",
]);
/** A certificate is looked at before anything is sent. */
const CERTIFICATE = /^(CERT_|DEPTH_ZERO_|ERR_TLS_CERT_|SELF_SIGNED_|UNABLE_TO_)/;

/** What sends a request. */
export type Fetch = typeof globalThis.fetch;
/** What waits for so many seconds. */
export type Sleep = (seconds: number) => Promise<void>;

/** Sends calls to one server with one key, and repeats what may be repeated. */
export class Connection {
  readonly baseUrl: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: Fetch;
  readonly #sleep: Sleep;
  #isClosed = false;

  constructor(apiKey: string, baseUrl: string, fetch: Fetch, sleep: Sleep) {
    this.baseUrl = usableBaseUrl(baseUrl);
    this.#headers = { Authorization: `Bearer ${usableKey(apiKey)}`, "User-Agent": USER_AGENT };
    this.#fetch = fetch;
    this.#sleep = sleep;
  }

  /** Send a call, again where that is safe, and read its answer. */
  async run<Answer>(call: Call<Answer>): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.once(call);
      } catch (failure) {
        if (!(failure instanceof NaiveError)) throw failure;
        if (call.doneWhenAbsent && attempt > 1 && failure instanceof NotFoundError) return call.read(new Uint8Array());
        const pause = pauseBeforeRetry(call.repeatable ?? "always", failure, attempt, Math.random());
        if (pause === undefined) throw failure;
        await this.pause(pause);
      }
    }
  }

  /** Send a call a single time and read its answer, which may take so many seconds beside its own wait. */
  async once<Answer>(call: Call<Answer>, timeout: number = TIMEOUT_SECONDS): Promise<Answer> {
    return call.read(await this.#send(call, timeout + (call.wait ?? 0)));
  }

  /** Wait before another attempt. */
  async pause(seconds: number): Promise<void> {
    await this.#sleep(seconds);
  }

  /** Answer no more calls. */
  close(): void {
    this.#isClosed = true;
  }

  async #send(call: Call<unknown>, seconds: number): Promise<Uint8Array> {
    if (this.#isClosed) {
      throw new ConfigurationError("The client is closed.", { hint: "Make another, or close this one later." });
    }
    const url = this.baseUrl + call.path + queryOf(call.query ?? {});
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), seconds * 1000);
    try {
      const response = await this.#fetch(url, {
        method: call.method,
        headers: { ...this.#headers, ...headersOf(call) },
        redirect: "manual",
        signal: abort.signal,
        ...(call.body !== undefined && { body: call.body }),
      });
      const content = await contentOf(response);
      if (!response.ok) throw answers.failure(response.status, response.headers, content);
      return content;
    } catch (fault) {
      if (fault instanceof NaiveError) throw fault;
      throw abort.signal.aborted
        ? new NoAnswerError(`No answer from ${this.baseUrl} within ${seconds} s.`, { cause: fault })
        : this.#failed(fault);
    } finally {
      clearTimeout(timer);
    }
  }

  /** What it means that `fetch` failed, which says the same of everything and has the reason as its cause. */
  #failed(fault: unknown): NaiveError {
    const causes = causesOf(fault);
    const reason = [...new Set(causes.map(messageOf).filter((message) => message !== "fetch failed"))].join("; ");
    return causes.some(isBeforeSending)
      ? new UnreachableError(`No connection to ${this.baseUrl}: ${reason}.`, { hint: UNREACHABLE_HINT, cause: fault })
      : new NoAnswerError(`No answer from ${this.baseUrl}: ${reason || "the connection failed"}.`, { cause: fault });
  }
}

/** The base URL without its last slash; its own path, where it has one, stays in front of every call's. */
export function usableBaseUrl(baseUrl: string): string {
  const parsed = URL.canParse(baseUrl.trim()) ? new URL(baseUrl.trim()) : undefined;
  if (!parsed || !["http:", "https:"].includes(parsed.protocol) || !isHost(parsed.hostname)) {
    throw new ConfigurationError(`The base URL '${baseUrl}' has to start with https:// or http:// and a host.`);
  }
  if (parsed.username || parsed.password || parsed.search || parsed.hash) {
    throw new ConfigurationError("The base URL must not have a user, a query or a fragment.");
  }
  const url = (parsed.origin + parsed.pathname).replace(/\/+$/, "");
  if (url.endsWith(ROOT)) {
    throw new ConfigurationError(`The base URL '${baseUrl}' ends with ${ROOT}, which every call adds by itself.`, {
      hint: `The base URL is without ${ROOT}: ${url.slice(0, -ROOT.length)}`,
    });
  }
  return url;
}

/** The key without the line end that files and shells add; an unusable one is not repeated in the error. */
export function usableKey(apiKey: string): string {
  const key = apiKey.trim();
  if (!/^[!-~]+$/.test(key)) {
    throw new ConfigurationError("The API key is empty or has characters that no key has.");
  }
  return key;
}

function isHost(name: string): boolean {
  return !name.replace(/\.$/, "").split(".").includes("");
}

function headersOf(call: Call<unknown>): Record<string, string> {
  return {
    ...(call.body !== undefined && { "Content-Type": "application/json" }),
    ...(call.idempotencyKey !== undefined && { "Idempotency-Key": call.idempotencyKey }),
  };
}

/** The content of an answer, read only as far as one may go; a list of its pieces could be of many times their size. */
async function contentOf(response: Response): Promise<Uint8Array> {
  let content = new Uint8Array(65_536);
  let length = 0;
  for await (const piece of response.body ?? []) {
    const end = length + piece.length;
    if (end > MAX_ANSWER_BYTES) throw answers.tooLarge(response.status);
    if (end > content.length) {
      const larger = new Uint8Array(2 * end);
      larger.set(content);
      content = larger;
    }
    content.set(piece, length);
    length = end;
  }
  return content.subarray(0, length);
}

/** An error with what it was caused by, and with what those that stand for several are made of. */
function causesOf(fault: unknown): unknown[] {
  if (!(fault instanceof Error)) return [fault];
  const inside = fault instanceof AggregateError ? fault.errors : [];
  return [fault, ...(fault.cause === undefined ? [] : causesOf(fault.cause)), ...inside.flatMap(causesOf)];
}

function isBeforeSending(fault: unknown): boolean {
  const { code, syscall } = (fault ?? {}) as { code?: unknown; syscall?: unknown };
  return syscall === "connect" || (typeof code === "string" && (NEVER_SENT.has(code) || CERTIFICATE.test(code)));
}

function messageOf(fault: unknown): string {
  return fault instanceof Error ? fault.message || String((fault as { code?: unknown }).code ?? "") : String(fault);
}
