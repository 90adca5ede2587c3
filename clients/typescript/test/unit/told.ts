/** A server on a socket that does what it is told, request by request, and the client of it. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { vi } from "vitest";
import { Naive } from "../../src/index.js";
import type { Answer } from "./cases.js";
import { KEY } from "./fake-queue.js";

const PATH = "/_aws/execute-api/abc123";
/** A port on which nobody listens. */
const NOWHERE = "http://127.0.0.1:2";

export interface Seen {
  method: string;
  /** What follows the base URL. */
  url: string;
  headers: Record<string, string | undefined>;
  body: string;
  /** After how many seconds the client would have given up. */
  timeout: number;
}

export class Told {
  readonly seen: Seen[] = [];
  readonly pauses: number[] = [];
  readonly #answers: readonly Answer[];
  readonly #server: Server;
  /** For how long the last timer was set. */
  #timer = 0;
  /** The timers of the requests, set before each. */
  readonly #timeouts: number[] = [];

  private constructor(answers: readonly Answer[]) {
    this.#answers = answers;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async listening(answers: readonly Answer[]): Promise<Told> {
    const told = new Told(answers);
    await new Promise<void>((resolve) => told.#server.listen(0, "127.0.0.1", resolve));
    told.#watchTimers();
    return told;
  }

  get client(): Naive {
    const sleep = async (seconds: number) => void this.pauses.push(seconds);
    return new Naive({ apiKey: KEY, baseUrl: this.#origin + PATH, fetch: this.#fetch, sleep });
  }

  async close(): Promise<void> {
    vi.restoreAllMocks();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get #origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get #next(): Answer | undefined {
    return this.#answers[this.seen.length];
  }

  /** See for how long the client means to wait, and do not let it wait that long for a server that is silent. */
  #watchTimers(): void {
    const real = globalThis.setTimeout;
    const watched = (act: () => void, milliseconds = 0) => {
      this.#timer = milliseconds / 1000;
      return real(act, this.#next?.fault === "silent" ? 30 : milliseconds);
    };
    vi.spyOn(globalThis, "setTimeout").mockImplementation(watched as typeof setTimeout);
  }

  /** The real `fetch`, of a server that is not there where the table says so. */
  readonly #fetch: typeof fetch = async (url, init) => {
    if (!this.#next) throw new Error(`nobody expected ${init?.method} ${url}`);
    this.#timeouts.push(this.#timer);
    if (this.#next.fault !== "refused") return fetch(url, init);
    this.#see(
      init?.method ?? "",
      String(url).slice(this.#origin.length),
      init?.headers ?? {},
      String(init?.body ?? ""),
    );
    return fetch(String(url).replace(this.#origin, NOWHERE), init);
  };

  #see(method: string, url: string, headers: object, body: string): void {
    const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
    const path = url.slice(PATH.length);
    const timeout = this.#timeouts[this.seen.length] ?? 0;
    this.seen.push({ method, url: path, headers: Object.fromEntries(named), body, timeout });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const answer = this.#next;
    this.#see(request.method ?? "", request.url ?? "", request.headers, Buffer.concat(chunks).toString());
    if (!answer || answer.fault === "reset") request.socket.destroy();
    else if (answer.fault === "cut") cut(response, answer);
    else if (answer.fault !== "silent") response.writeHead(answer.status, answer.headers).end(contentOf(answer));
  }
}

/** Announce the whole answer, and send half of it. */
function cut(response: ServerResponse, answer: Answer): void {
  const content = contentOf(answer);
  response.writeHead(answer.status, { ...answer.headers, "Content-Length": content.length });
  response.write(content.subarray(0, content.length / 2), () => response.socket?.destroy());
}

function contentOf(answer: Answer): Buffer {
  if (answer.base64 !== undefined) return Buffer.from(answer.base64, "base64");
  if (answer.text !== undefined) return Buffer.from(answer.text);
  return Buffer.from(answer.json === undefined ? "" : JSON.stringify(answer.json));
}
