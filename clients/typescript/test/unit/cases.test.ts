/** What the table of cases demands of every client, against a real socket. */

import { afterEach, describe, expect, it, vi } from "vitest";
import * as constants from "../../src/constants.js";
import * as naive from "../../src/index.js";
import { type Case, camelCase, type Delivery, type Expected, resolved, table } from "./cases.js";
import { KEY } from "./fake-queue.js";
import { type Seen, Told } from "./told.js";

const { NaiveError } = naive;
let told: Told;

afterEach(async () => {
  await told?.close();
});

describe.each(table.cases.map((each) => [each.name, each] as const))("%s", (_, unresolved) => {
  it("is as the table says", async () => {
    const expected = resolved(unresolved);
    told = await Told.listening(expected.server);
    const outcome = await outcomeOf(told.client, expected);
    checkRequests(told.seen, expected.requests);
    checkPauses(told.pauses, expected.pauses ?? []);
    if (expected.error) checkError(outcome.error, expected.error);
    else checkResult(outcome, expected.result);
  });
});

describe("the table", () => {
  it("names every method", () => {
    told = undefined as unknown as Told;
    const client = new naive.Naive({ apiKey: KEY, baseUrl: "http://127.0.0.1:1" });
    for (const [place, methods] of Object.entries(table.surface)) {
      const named = methods.map(camelCase).sort();
      expect(methodsOf(placeIn(client, place)), place).toEqual(named);
    }
  });

  it("has the same defaults", () => {
    const ours = Object.entries(constants).map(([name, value]) => [name.toLowerCase(), value]);
    expect(Object.fromEntries(ours)).toMatchObject(table.constants);
  });

  it("has the same tree of errors", () => {
    const classes = naive as unknown as Record<string, typeof NaiveError>;
    for (const [parent, children] of Object.entries(table.errors.tree)) {
      const found = Object.values(classes).filter(
        (one) => typeof one === "function" && Object.getPrototypeOf(one) === classes[parent],
      );
      expect(found.map((one) => one.name).sort(), parent).toEqual([...children].sort());
    }
  });

  it.each(table.errors.by_code)("%i %s is a %s", async (status, code, name) => {
    const body = { error: { code, message: "m", request_id: "r" } };
    const fetch = async () => new Response(JSON.stringify(body), { status, headers: { "Retry-After": "61" } });
    const client = new naive.Naive({ apiKey: KEY, baseUrl: "http://127.0.0.1:1", fetch, sleep: async () => undefined });
    const failed = await client.queue.get("q").catch((error: unknown) => error);
    checkError(failed, { class: name, status, code, message: "m", request_id: "r" });
  });

  it.each(table.webhooks.deliveries)("has a webhook: $name", (delivery) => {
    const { headers, body, result, error } = resolved(delivery);
    vi.useFakeTimers({ now: table.webhooks.now * 1000, toFake: ["Date"] });
    const verify = () => naive.verifyWebhook(table.webhooks.secret, headers, body);
    if (error === undefined) {
      expect(verify()).toMatchObject(result ?? {});
    } else {
      expect(verify).toThrow(naive.InvalidWebhookError);
      expect(verify).toThrow(error);
    }
    vi.useRealTimers();
  });

  it.each(table.webhooks.no_secrets)("has no secret of a webhook: %j", (secret) => {
    vi.useFakeTimers({ now: table.webhooks.now * 1000, toFake: ["Date"] });
    const { headers, body } = table.webhooks.deliveries[0] as Delivery;
    expect(() => naive.verifyWebhook(secret, headers, body)).toThrow(naive.ConfigurationError);
    vi.useRealTimers();
  });
});

type Method = (...parameters: unknown[]) => Promise<unknown> | AsyncIterable<unknown>;

/** What came of a call. */
async function outcomeOf(client: naive.Naive, { call, args = [], options = {}, user, take }: Case) {
  const [place, name] = [call.split(".").slice(0, -1).join("."), call.split(".").at(-1) ?? ""];
  const noun = placeIn(user === undefined ? client : client.forUser(user), place) as Record<string, Method>;
  const parameters = Object.keys(options).length > 0 ? [...args, options] : args;
  try {
    const returned = noun[camelCase(name)]?.(...parameters);
    if (returned && Symbol.asyncIterator in returned) return { value: await taken(returned, take) };
    return { value: await returned };
  } catch (error) {
    return { error };
  }
}

async function taken(entries: AsyncIterable<unknown>, most = Number.POSITIVE_INFINITY): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const entry of entries) {
    found.push(entry);
    if (found.length >= most) break;
  }
  return found;
}

function placeIn(client: object, path: string): object {
  const steps = path ? path.split(".") : [];
  return steps.reduce((noun, step) => (noun as Record<string, object>)[step] ?? {}, client);
}

function methodsOf(noun: object): string[] {
  return Object.getOwnPropertyNames(Object.getPrototypeOf(noun))
    .filter((name) => name !== "constructor")
    .sort();
}

function checkRequests(seen: Seen[], expected: Expected[]): void {
  expect(seen.map(({ method, url }) => `${method} ${url}`)).toHaveLength(expected.length);
  const unique = new Map<unknown, number>();
  for (const [place, request] of expected.entries()) {
    const found = seen[place] as Seen;
    if (request.$again === undefined) checkRequest(found, request, unique);
    else expect(sameness(found)).toEqual(sameness(seen[request.$again] as Seen));
  }
}

function checkRequest(found: Seen, request: Expected, unique: Map<unknown, number>): void {
  const [path, query = ""] = found.url.split("?");
  expect({ method: found.method, path }).toEqual({ method: request.method, path: request.path });
  if (request.query)
    expect(Object.fromEntries(new URLSearchParams(query.replaceAll("+", "%2B")))).toEqual(request.query);
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    if (value === null) expect(found.headers[name], name).toBeUndefined();
    else expect(fits(found.headers[name], value, unique), `${name}: ${found.headers[name]}`).toBe(true);
  }
  if ("body" in request) expect(differenceOf(JSON.parse(found.body), request.body, unique, true)).toBeUndefined();
  if (request.raw !== undefined) expect(found.body).toBe(request.raw);
  if (request.timeout !== undefined) expect(found.timeout).toBe(request.timeout);
}

function sameness({ method, url, headers, body }: Seen): unknown {
  return { method, url, body, key: headers["idempotency-key"] };
}

/** Whether a text is what the table says, which may stand for a text. */
function fits(found: unknown, expected: string, unique: Map<unknown, number>): boolean {
  if (expected === "${agent}") return typeof found === "string" && found.startsWith("naive-queue-");
  if (expected !== "${unique}") return found === expected.replace("${key}", KEY);
  unique.set(found, (unique.get(found) ?? 0) + 1);
  return typeof found === "string" && found !== "" && unique.get(found) === 1;
}

function checkPauses(found: number[], expected: [number, number][]): void {
  expect(found).toHaveLength(expected.length);
  for (const [place, [least, most]] of expected.entries()) {
    expect(found[place]).toBeGreaterThanOrEqual(least);
    expect(found[place]).toBeLessThanOrEqual(most);
  }
}

function checkResult(outcome: { value?: unknown; error?: unknown }, expected: unknown): void {
  if ("error" in outcome) throw outcome.error;
  expect(differenceOf(outcome.value, expected, new Map(), false)).toBeUndefined();
}

function checkError(error: unknown, { class: name, ...fields }: { class: string } & Record<string, unknown>): void {
  expect(error).toBeInstanceOf(NaiveError);
  const failure = error as InstanceType<typeof NaiveError> & Record<string, unknown>;
  expect(failure.constructor.name, String(failure)).toBe(name);
  for (const [field, value] of Object.entries(fields)) expect(failure[field] ?? null, field).toEqual(value);
}

/**
 * Where a value differs from what the table says, if it does: exactly, or in what the table names. Not by `toEqual`,
 * which would print megabytes.
 */
function differenceOf(
  found: unknown,
  expected: unknown,
  unique: Map<unknown, number>,
  exactly: boolean,
  path = "it",
): string | undefined {
  if (expected === null) return (found ?? null) === null ? undefined : `${path} is there`;
  if (Array.isArray(expected)) {
    if (!Array.isArray(found) || found.length !== expected.length) return `${path} has another length`;
    return firstOf(
      expected.map((one, place) => () => differenceOf(found[place], one, unique, exactly, `${path}.${place}`)),
    );
  }
  if (typeof expected === "object") {
    if (typeof found !== "object" || found === null) return `${path} is no object`;
    const extra = exactly ? Object.keys(found).filter((name) => !(name in expected)) : [];
    if (extra.length > 0) return `${path} has ${extra}`;
    return firstOf(
      Object.entries(expected).map(
        ([name, one]) =>
          () =>
            differenceOf((found as Record<string, unknown>)[name], one, unique, exactly, `${path}.${name}`),
      ),
    );
  }
  const same = typeof expected === "string" ? fits(found, expected, unique) : found === expected;
  return same ? undefined : `${path} is ${String(found).slice(0, 100)}, not ${String(expected).slice(0, 100)}`;
}

function firstOf(checks: (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const difference = check();
    if (difference !== undefined) return difference;
  }
  return undefined;
}
