/** A request as a value, and what those of every noun are made of. Nothing here does I/O. */

import { read } from "../answers.js";
import { InvalidInputError } from "../errors.js";
import type { Repeatable } from "../retries.js";
import type { Shape } from "../shapes.js";

export const ROOT = "/v1";

/** One request, ready to be sent. */
export interface Call<Answer> {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly read: (content: Uint8Array) => Answer;
  /** What a repeat risks; nothing if it is not said. */
  readonly repeatable?: Repeatable;
  readonly query?: object;
  /** JSON, the same at every attempt. */
  readonly body?: string;
  readonly idempotencyKey?: string;
  /** Seconds the server may take its time on purpose. */
  readonly wait?: number;
  /** Whether a 404 after a failed attempt means that the attempt had worked. */
  readonly doneWhenAbsent?: boolean;
}

export function get<Answer>(path: string, query: object, shape: Shape<Answer>): Call<Answer> {
  return { method: "GET", path, read: answerAs(shape), query };
}

/** A POST, with a body or without one, and with what else there is to say of it. */
export function post<Answer>(
  path: string,
  body: object | undefined,
  shape: Shape<Answer>,
  more: Pick<Call<Answer>, "idempotencyKey" | "repeatable"> = {},
): Call<Answer> {
  return { method: "POST", path, read: answerAs(shape), ...(body && { body: encode(body) }), ...more };
}

export function patch<Answer>(path: string, body: object, shape: Shape<Answer>): Call<Answer> {
  return { method: "PATCH", path, read: answerAs(shape), body: encode(body) };
}

/** A DELETE, whose answer has no body. */
export function remove(path: string, query: object = {}): Call<void> {
  return { method: "DELETE", path, read: () => undefined, query };
}

/** The path under which a user's things are, or those of whoever the key stands for. */
export function mount(userId?: string): string {
  return userId === undefined ? ROOT : `${ROOT}/users/${segment(userId)}`;
}

/** Compact JSON. What is undefined is not in it, and left to the server. */
export function encode(body: object): string {
  try {
    return JSON.stringify(body, (_, value: unknown) => sendable(value));
  } catch (fault) {
    throw new InvalidInputError(`Nothing that could be sent as JSON: ${messageOf(fault)}.`);
  }
}

/** An id as one step of a path, out of which it cannot lead. */
export function segment(id: string): string {
  return component(id, "an id");
}

/** A query with what is something. */
export function queryOf(fields: object): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  const pairs = given.map(([name, value]) => `${name}=${component(String(value), `a ${name}`)}`);
  return pairs.length > 0 ? `?${pairs.join("&")}` : "";
}

/** The reader of an answer that has this shape. */
export function answerAs<Answer>(shape: Shape<Answer>): (content: Uint8Array) => Answer {
  return (content) => read(shape, content);
}

/** A text that no other call has, for the server to know a repeated one by. */
export function unique(): string {
  return crypto.randomUUID();
}

function component(text: string, what: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    throw new InvalidInputError(`${JSON.stringify(text)} is not ${what}.`);
  }
}

/** JSON would make nothing of such a number, and the server its default. */
function sendable(value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`${value} is in it`);
  return value;
}

function messageOf(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}
