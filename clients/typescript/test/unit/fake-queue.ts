/** A queue in memory behind the API's own routes: for a loop that calls as it likes, and not in a known order. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Naive, type NaiveOptions } from "../../src/index.js";

export const KEY: string = `nv_sk_live_${"k".repeat(43)}`;
export const QUEUE_ID = "11111111-1111-4111-8111-111111111111";
const BASE_URL = "http://queue.test/_aws/execute-api/abc123";

type Fields = Record<string, unknown>;

interface Answer {
  status: number;
  body: unknown;
}

interface Asked {
  ack?: string[];
  retry?: { receipt_handle: string; delay_seconds?: number }[];
  extend?: { receipt_handle: string }[];
}

/** A queue as the API shows it. */
export function queueJson(fields: Fields = {}): Fields {
  return {
    id: QUEUE_ID,
    name: "jobs",
    type: "standard",
    user_id: "22222222-2222-4222-8222-222222222222",
    dlq: false,
    max_receive_count: null,
    visibility_timeout: 30,
    retention_seconds: 345600,
    delay_seconds: 0,
    content_based_dedup: null,
    consumer: null,
    created_at: "2026-01-02T03:04:05Z",
    ...fields,
  };
}

/** An error as the API gives it. */
export function refusal(status: number, code: string): Answer {
  return { status, body: { error: { code, message: `This is ${code}.`, request_id: "req-1" } } };
}

/** Gives each message that was put on it to one receive, and remembers how it was settled. */
export class FakeQueue {
  about: Fields = queueJson();
  /** Answers instead of the queue where it gives something, by method and path. */
  intercept: (method: string, path: string) => Answer | undefined = () => undefined;
  readonly acked: string[] = [];
  readonly givenBack: [string, number][] = [];
  readonly extended: string[] = [];
  readonly requests: string[] = [];
  readonly sent: { body: string; group_id?: string; attributes?: Record<string, string> }[] = [];
  /** How many receives wait. */
  polling = 0;
  #ready: Fields[] = [];
  #changed: (() => void)[] = [];

  /** Put messages on it, each with its id for a body and a handle too, if nothing else is said. */
  put(ids: string[], fields: Fields = {}): void {
    for (const id of ids) {
      this.#ready.push({
        message_id: id,
        body: id,
        receipt_handle: id,
        receive_count: 1,
        sent_at: "2026-01-02T03:04:05Z",
        ...fields,
      });
    }
    for (const tell of this.#changed.splice(0)) tell();
  }

  client(options: NaiveOptions = {}): Naive {
    return new Naive({ apiKey: KEY, baseUrl: BASE_URL, fetch: this.fetch, ...options });
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const url = new URL(String(input));
    const path = url.pathname.replace(new URL(BASE_URL).pathname, "");
    const { status, body } = await this.#answer(
      init?.method ?? "GET",
      path,
      url.searchParams,
      String(init?.body ?? "{}"),
    );
    return new Response(status === 204 ? null : JSON.stringify(body), { status });
  };

  /** The same over a socket, while something is done with its address. */
  async served(use: (url: string) => Promise<void>): Promise<void> {
    const server = createServer(async (request, response) => {
      let content = "";
      for await (const chunk of request) content += chunk;
      const url = new URL(request.url ?? "", "http://queue.test");
      const answer = await this.#answer(request.method ?? "", url.pathname, url.searchParams, content || "{}");
      response.writeHead(answer.status).end(answer.status === 204 ? "" : JSON.stringify(answer.body));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  async #answer(method: string, path: string, query: URLSearchParams, content: string): Promise<Answer> {
    this.requests.push(`${method} ${path}`);
    const instead = this.intercept(method, path);
    if (instead) return instead;
    const place = path.split("/").slice(-1)[0];
    if (place === "settle") return { status: 200, body: this.#settle(JSON.parse(content)) };
    if (place === "batch") return { status: 200, body: { results: JSON.parse(content).messages.map(this.#send) } };
    if (place === "messages" && method === "POST") return { status: 201, body: this.#send(JSON.parse(content)) };
    if (place === "messages" && method === "GET")
      return { status: 200, body: { messages: await this.#receive(query) } };
    if (place === "messages") {
      this.acked.push(query.get("receipt_handle") ?? "");
      return { status: 204, body: null };
    }
    return { status: 200, body: place === "queue" && method === "GET" ? { queues: [this.about] } : this.about };
  }

  readonly #send = (message: { body: string }): Fields => {
    this.sent.push(message);
    const id = `m-${this.sent.length}`;
    this.put([id], message);
    return { message_id: id };
  };

  async #receive(query: URLSearchParams): Promise<Fields[]> {
    const waits = Number(query.get("wait") ?? 1) * 1000;
    if (this.#ready.length === 0 && waits > 0) await this.#change(waits);
    const taken = this.#ready.splice(0, Number(query.get("max") ?? 1));
    const ends = Date.now() + Number(query.get("visibility") ?? 30) * 1000;
    return taken.map((message) => ({ ...message, lease_expires_at: new Date(ends).toISOString() }));
  }

  async #change(milliseconds: number): Promise<void> {
    this.polling += 1;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      timer.unref();
      this.#changed.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
    this.polling -= 1;
  }

  #settle({ ack = [], retry = [], extend = [] }: Asked): Fields {
    this.acked.push(...ack);
    this.givenBack.push(...retry.map((one): [string, number] => [one.receipt_handle, one.delay_seconds ?? 0]));
    this.extended.push(...extend.map((one) => one.receipt_handle));
    const ok = (list: unknown[]) => list.map(() => ({ ok: true }));
    return { ack: ok(ack), retry: ok(retry), extend: ok(extend) };
  }
}

/** Wait until this is so. */
export async function until(isSo: () => boolean): Promise<void> {
  for (let times = 0; !isSo(); times += 1) {
    if (times > 2000) throw new Error("it never came to that");
    await pause(5);
  }
}

/** Wait for so many milliseconds. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** A promise, and what fulfils it. */
export function gate(): { passed: Promise<void>; open: () => void } {
  let open: () => void = () => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}
