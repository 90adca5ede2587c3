/** Whether a request is a webhook of a queue: signed with the secret of its consumer, and just now. */

import { createHmac, timingSafeEqual } from "node:crypto";
import { LEAST_WEBHOOK_SECRET_BYTES, WEBHOOK_TOLERANCE_SECONDS } from "./constants.js";
import { ConfigurationError, InvalidWebhookError } from "./errors.js";
import { areTexts } from "./shapes.js";

const PREFIX = "whsec_";

/** A message as a webhook brings it. All but its id and its body is unsigned, and known from headers. */
export interface Webhook {
  message_id: string;
  body: string;
  queue_id: string | null;
  receive_count: number | null;
  group_id: string | null;
  /** Null as well when they were too large for a header. */
  attributes: Record<string, string> | null;
}

/** The headers of a request: those of `fetch`, of `node:http`, or a plain object. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * The message of a request that a queue's webhook consumer sent. Throws an `InvalidWebhookError` for any other.
 *
 * `body` has to be what came over the wire, before anything parsed it. `secret` is the consumer's, which was shown when
 * it was set; in the time in which you change it, a list of both.
 *
 * The signature covers the id, the time and the body, but none of the `naive-*` headers: `queue_id`, `receive_count`,
 * `group_id` and `attributes` are what anybody on the way may have made of them.
 */
export function verifyWebhook(
  secret: string | readonly string[],
  headers: WebhookHeaders,
  body: string | Uint8Array,
): Webhook {
  const find = reader(headers);
  const id = required(find, "webhook-id");
  const timestamp = required(find, "webhook-timestamp");
  const signatures = required(find, "webhook-signature");
  checkTime(timestamp);
  const keys = (typeof secret === "string" ? [secret] : secret).map(keyOf);
  const expected = keys.map((key) => createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest());
  if (!signatures.split(" ").some((signature) => isOneOf(expected, signature))) {
    throw new InvalidWebhookError("No signature of the request is one with this secret.");
  }
  return {
    message_id: id,
    body: typeof body === "string" ? body : new TextDecoder("utf-8", { ignoreBOM: true }).decode(body),
    queue_id: find("naive-queue-id") ?? null,
    receive_count: countOf(find("naive-receive-count")),
    group_id: find("naive-group-id") ?? null,
    attributes: attributesOf(find("naive-attributes")),
  };
}

type Find = (name: string) => string | undefined;

function reader(headers: WebhookHeaders): Find {
  if (headers instanceof Headers) return (name) => headers.get(name) ?? undefined;
  const byName = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return (name) => {
    const value: unknown = byName.get(name);
    if (Array.isArray(value)) return value.join(" ");
    return typeof value === "string" ? value : undefined;
  };
}

function required(find: Find, name: string): string {
  const value = find(name);
  if (value) return value;
  throw new InvalidWebhookError(`The request has no ${name}.`);
}

function checkTime(timestamp: string): void {
  if (!/^[0-9]{1,15}$/.test(timestamp)) throw new InvalidWebhookError("The webhook-timestamp is not a time.");
  const age = Math.floor(Date.now() / 1000) - Number(timestamp);
  if (age > WEBHOOK_TOLERANCE_SECONDS) throw new InvalidWebhookError("The request is too old.");
  if (age < -WEBHOOK_TOLERANCE_SECONDS) throw new InvalidWebhookError("The request is from the future.");
}

function keyOf(secret: string): Buffer {
  const text = secret.trim();
  const encoded = text.startsWith(PREFIX) ? text.slice(PREFIX.length) : text;
  const key = Buffer.from(/^[A-Za-z0-9+/]*={0,2}$/.test(encoded) ? encoded : "", "base64");
  // With an empty one, as of a variable that is not set, anybody could sign.
  if (key.length >= LEAST_WEBHOOK_SECRET_BYTES) return key;
  throw new ConfigurationError("The webhook's secret is none.", { hint: `It begins with ${PREFIX}.` });
}

/** Whether a signature with its version, `v1,…`, is one of these; how long that takes tells nothing of them. */
function isOneOf(expected: readonly Buffer[], signature: string): boolean {
  const [version, encoded = ""] = signature.split(",", 2);
  const given = Buffer.from(encoded, "base64");
  return version === "v1" && expected.some((one) => one.length === given.length && timingSafeEqual(one, given));
}

function countOf(count: string | undefined): number | null {
  if (count === undefined) return null;
  if (/^[0-9]{1,15}$/.test(count)) return Number(count);
  throw new InvalidWebhookError("The request is not one of a queue: the naive-receive-count is no number.");
}

function attributesOf(encoded: string | undefined): Record<string, string> | null {
  if (encoded === undefined) return null;
  const attributes = parsed(Buffer.from(encoded, "base64url").toString());
  if (areTexts(attributes)) return attributes;
  throw new InvalidWebhookError("The request is not one of a queue: the naive-attributes are no object of texts.");
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
