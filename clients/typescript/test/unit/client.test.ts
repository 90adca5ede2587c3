/** How a client is made, and what it makes of what a program without types gives it. */

import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it, type Mock, vi } from "vitest";
import { MAX_ANSWER_BYTES, MEBIBYTE } from "../../src/constants.js";
import {
  ConfigurationError,
  InvalidInputError,
  Naive,
  NaiveError,
  NoAnswerError,
  UnexpectedAnswerError,
} from "../../src/index.js";
import { KEY, queueJson } from "./fake-queue.js";

const BASE_URL = "http://naive.test/base";

/** A client whose requests are all answered by this. */
function answering(body: unknown, status = 200): { naive: Naive; fetch: Mock<typeof globalThis.fetch> } {
  const fetch = vi.fn<typeof globalThis.fetch>(async () => new Response(JSON.stringify(body), { status }));
  return { naive: new Naive({ apiKey: KEY, baseUrl: BASE_URL, fetch, sleep: async () => undefined }), fetch };
}

describe("key and address", () => {
  beforeEach(() => {
    vi.stubEnv("NAIVE_API_KEY", KEY);
    vi.stubEnv("NAIVE_BASE_URL", "https://api.example.com/");
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it("come from the environment when not told", async () => {
    const fetch = vi.fn<typeof globalThis.fetch>(async () => new Response(JSON.stringify(queueJson())));
    await new Naive({ fetch }).queue.get("q");
    expect(fetch.mock.calls[0]?.[0]).toBe("https://api.example.com/v1/queue/q");
    expect(fetch.mock.calls[0]?.[1]?.headers).toMatchObject({ Authorization: `Bearer ${KEY}` });
  });

  it("are missed where nobody tells them", () => {
    vi.stubEnv("NAIVE_API_KEY", "");
    expect(() => new Naive()).toThrow(expect.objectContaining({ hint: "Pass one, or set NAIVE_API_KEY." }));
    vi.stubEnv("NAIVE_API_KEY", KEY);
    vi.stubEnv("NAIVE_BASE_URL", undefined);
    expect(() => new Naive()).toThrow(expect.objectContaining({ hint: "Pass one, or set NAIVE_BASE_URL." }));
  });

  it.each([{ apiKey: "" }, { baseUrl: "" }])("that are told and empty are not looked for elsewhere: %j", (options) => {
    expect(() => new Naive(options)).toThrow(ConfigurationError);
  });

  it.each([
    "api.example.com",
    "ftp://api.example.com",
    "http://",
    "http://a:b",
    "localhost:8000",
    "http://a..b",
    "http://me:secret@a",
    "http://a/?b",
    "http://a/#b",
  ])("cannot work is said before any call: %s", (baseUrl) => {
    expect(() => new Naive({ baseUrl })).toThrow(/base URL/);
    expect(() => new Naive({ baseUrl })).toThrow(ConfigurationError);
  });

  it.each(["https://api.example.com/v1", "https://api.example.com/v1/"])("with the version are refused", (baseUrl) => {
    const hint = "The base URL is without /v1: https://api.example.com";
    expect(() => new Naive({ baseUrl })).toThrow(expect.objectContaining({ hint }));
  });

  it.each([" ", "nv_sk_live_é", "nv_sk\nlive"])("that cannot be are not repeated: %j", (apiKey) => {
    expect(() => new Naive({ apiKey })).toThrow("The API key is empty or has characters that no key has.");
  });

  it("may have a line end", async () => {
    const fetch = vi.fn<typeof globalThis.fetch>(async () => new Response(JSON.stringify(queueJson())));
    await new Naive({ apiKey: `${KEY}\n`, fetch }).queue.get("q");
    expect(fetch.mock.calls[0]?.[1]?.headers).toMatchObject({ Authorization: `Bearer ${KEY}` });
  });

  it("are shown by no client and no error", async () => {
    const fetch = async () => {
      throw new TypeError("fetch failed", { cause: new Error("other side closed") });
    };
    const naive = new Naive({ fetch });
    const failed = await naive.queue.send("q", "x").catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(NoAnswerError);
    expect(String(failed)).toContain("other side closed");
    expect(inspect([naive, failed], { depth: 20, showHidden: true })).not.toContain(KEY);
  });
});

describe("the global fetch", () => {
  it("is looked up at each call, so that what instruments it may come later", async () => {
    const naive = new Naive({ apiKey: KEY, baseUrl: BASE_URL });
    vi.stubGlobal("fetch", async () => new Response(JSON.stringify(queueJson({ name: "stubbed" }))));
    try {
      expect((await naive.queue.get("q")).name).toBe("stubbed");
    } finally {
      vi.unstubAllGlobals();
    }
  });
});

describe("a closed client", () => {
  it("says that it is", async () => {
    const { naive, fetch } = answering(queueJson());
    naive.close();
    await expect(naive.queue.list()).rejects.toThrow(ConfigurationError);
    await expect(naive.forUser("u").queue.list()).rejects.toThrow("The client is closed.");
    expect(fetch).not.toHaveBeenCalled();
  });
});

describe("what names a thing", () => {
  it("may be the thing itself", async () => {
    const { naive, fetch } = answering(queueJson());
    const queue = await naive.queue.get("q");
    await naive.queue.destroy(queue);
    const user = { id: "u-1", external_id: null, email: null, label: null, status: "active", is_default: false };
    await naive.users.delete({ ...user, created_at: "2026-01-02T03:04:05Z" });
    expect(fetch.mock.calls.slice(1).map(([url]) => url)).toEqual([
      `${BASE_URL}/v1/queue/${queue.id}`,
      `${BASE_URL}/v1/users/u-1`,
    ]);
  });

  it.each([undefined, null, "", ".", "..", 7, {}, [], () => "secret", "\ud800"])("is an error when it is %j", (id) => {
    const { naive, fetch } = answering(queueJson());
    const failed = () => naive.forUser(id as string);
    expect(failed).toThrow(InvalidInputError);
    expect(failed).not.toThrow(/secret/);
    expect(fetch).not.toHaveBeenCalled();
  });
});

describe("what cannot be sent", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;

  it.each([
    ["a number that is none", { delay_seconds: Number.NaN }],
    ["a number without an end", { delay_seconds: Number.POSITIVE_INFINITY }],
    ["a large integer", { delay_seconds: 1n }],
    ["a circle", { attributes: cyclic }],
  ])("is an error of ours: %s", async (_, options) => {
    const { naive, fetch } = answering({ message_id: "m" }, 201);
    await expect(naive.queue.send("q", "x", options as object)).rejects.toThrow(InvalidInputError);
    expect(fetch).not.toHaveBeenCalled();
  });

  it("is no null in the attributes, which the server has to see", async () => {
    const { naive, fetch } = answering({ message_id: "m" }, 201);
    await naive.queue.send("q", "x", { attributes: { kind: null as unknown as string } });
    expect(fetch.mock.calls[0]?.[1]?.body).toBe('{"attributes":{"kind":null},"body":"x"}');
  });
});

describe("an answer that does not fit", () => {
  it("is named and not quoted", async () => {
    const message = {
      message_id: "m",
      body: "secret",
      receipt_handle: "h",
      receive_count: "many secrets",
      sent_at: "2026-01-02T03:04:05Z",
      lease_expires_at: "2026-01-02T03:04:35Z",
    };
    const { naive } = answering({ messages: [message] });
    const failed = await naive.queue.receive("q").catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(NaiveError);
    expect(String(failed)).toContain("messages.0.receive_count is not a whole number");
    expect(String(failed)).not.toContain("secret");
  });
});

describe("an answer that goes on and on", () => {
  it("is not read to its end", async () => {
    const cancelled = vi.fn();
    let given = 0;
    const pull = (stream: ReadableStreamDefaultController) => {
      given += MEBIBYTE;
      stream.enqueue(new Uint8Array(MEBIBYTE));
      if (given > 10 * MAX_ANSWER_BYTES) stream.close();
    };
    const fetch = async () => new Response(new ReadableStream({ pull, cancel: cancelled }));
    const failed = new Naive({ apiKey: KEY, baseUrl: BASE_URL, fetch }).queue.send("q", "x");
    await expect(failed).rejects.toThrow(/more than 16,777,216 bytes/);
    expect(cancelled).toHaveBeenCalled();
    expect(given).toBeLessThan(MAX_ANSWER_BYTES + 4 * MEBIBYTE);
  });
});

describe("an answer as large as one may be", () => {
  it("is read, however small its pieces are", async () => {
    const content = Buffer.from(JSON.stringify(queueJson()).padEnd(MAX_ANSWER_BYTES));
    const pieces = [content.subarray(0, 1), content.subarray(1, 70_000), content.subarray(70_000)];
    const fetch = async () => new Response(ReadableStream.from(pieces));
    const naive = new Naive({ apiKey: KEY, baseUrl: BASE_URL, fetch });
    expect((await naive.queue.get("q")).name).toBe("jobs");
  });
});

describe("an answer that is no UTF-8", () => {
  it("is not taken for one with other characters", async () => {
    const content = Buffer.from(JSON.stringify(queueJson({ name: "?" })));
    content[content.indexOf("?")] = 0xff;
    const fetch = async () => new Response(content);
    const failed = new Naive({ apiKey: KEY, baseUrl: BASE_URL, fetch }).queue.get("q");
    await expect(failed).rejects.toThrow(UnexpectedAnswerError);
  });
});

describe("an error", () => {
  it("says all in one text", async () => {
    const error = {
      code: "already_exists",
      message: "Taken.",
      hint: "Pick another.",
      details: { id: "q" },
      request_id: "r",
    };
    const { naive } = answering({ error }, 409);
    const failed = await naive.queue.create({ name: "jobs" }).catch(String);
    expect(failed).toBe("AlreadyExistsError: Taken. (already_exists, request r)\nHint: Pick another.");
  });
});
