/** `verifyWebhook`, beyond what the table of cases says of it. */

import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ConfigurationError, InvalidWebhookError, verifyWebhook } from "../../src/index.js";

const SECRET = `whsec_${Buffer.from("secret".repeat(4)).toString("base64")}`;
const OTHER = `whsec_${Buffer.from("another".repeat(4)).toString("base64")}`;
const BODY = '{"task":"résize"}';

function headers(body: string | Buffer = BODY, secret = SECRET): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const signature = createHmac("sha256", key).update(`m-1.${timestamp}.`).update(body).digest("base64");
  return { "webhook-id": "m-1", "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}

describe("verifyWebhook", () => {
  it("takes the headers of fetch and those of node:http", () => {
    expect(verifyWebhook(SECRET, new Headers(headers()), BODY).message_id).toBe("m-1");
    const several = { ...headers(), cookie: undefined, "set-cookie": ["a", "b"] };
    expect(verifyWebhook(SECRET, several, BODY).body).toBe(BODY);
  });

  it("takes bytes, and gives text", () => {
    const bytes = Buffer.from(`\ufeff${BODY}`);
    expect(verifyWebhook(SECRET, headers(bytes), new Uint8Array(bytes)).body).toBe(`\ufeff${BODY}`);
  });

  it("takes the old secret and the new one while they change", () => {
    expect(verifyWebhook([OTHER, SECRET], headers(), BODY).message_id).toBe("m-1");
    expect(() => verifyWebhook([OTHER], headers(), BODY)).toThrow(InvalidWebhookError);
    expect(() => verifyWebhook([], headers(), BODY)).toThrow(InvalidWebhookError);
  });

  it.each([
    ["body", { body: `${BODY} ` }],
    ["id", { id: "m-2" }],
    ["time", { timestamp: "1" }],
  ])("refuses another %s", (_, other: { body?: string; id?: string; timestamp?: string }) => {
    const signed = headers();
    if (other.id) signed["webhook-id"] = other.id;
    if (other.timestamp) signed["webhook-timestamp"] = String(Number(signed["webhook-timestamp"]) - 1);
    expect(() => verifyWebhook(SECRET, signed, other.body ?? BODY)).toThrow(InvalidWebhookError);
  });

  it("refuses a right signature of another version", () => {
    const signed = headers();
    const other = { ...signed, "webhook-signature": signed["webhook-signature"]?.replace("v1,", "v2,") };
    expect(() => verifyWebhook(SECRET, other, BODY)).toThrow(InvalidWebhookError);
  });

  it("refuses headers of ours that cannot be read", () => {
    for (const garbled of [
      { "naive-attributes": "é" },
      { "naive-receive-count": "-1" },
      { "naive-receive-count": "" },
    ]) {
      expect(() => verifyWebhook(SECRET, { ...headers(), ...garbled }, BODY)).toThrow(InvalidWebhookError);
    }
  });

  it.each([null, 1, {}, [null]])("refuses a header that is no text: %j", (value) => {
    const odd = { ...headers(), "webhook-signature": value } as unknown as Record<string, string>;
    expect(() => verifyWebhook(SECRET, odd, BODY)).toThrow(InvalidWebhookError);
  });

  it("cannot do with a list in which not all are secrets", () => {
    expect(() => verifyWebhook([SECRET, "whsec_="], headers(), BODY)).toThrow(ConfigurationError);
  });
});
