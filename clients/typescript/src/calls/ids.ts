/** What names a thing in a call: its id, or the thing itself. */

import { InvalidInputError } from "../errors.js";
import type { KeyFacts, Queue, QueueId, QueueType, Service, User } from "../models.js";

export type UserRef = string | User;
export type KeyRef = string | KeyFacts;
export type ServiceRef = string | Service;
export type QueueRef<Type extends QueueType = QueueType> = QueueId<Type> | Queue<Type>;

/** The id of a user. */
export function userId(user: UserRef, argument = "user_id"): string {
  return checked(typeof user === "object" ? user?.id : user, user, argument, "the id of a user or a User");
}

/** The id of a key. */
export function keyId(key: KeyRef): string {
  return checked(typeof key === "object" ? key?.key_id : key, key, "key_id", "the id of a key or a Key");
}

/** The id of a service. */
export function serviceId(service: ServiceRef): string {
  const id = typeof service === "object" ? service?.id : service;
  return checked(id, service, "service", "the id of a service or a Service");
}

/** The id of a queue. */
export function queueId(queue: QueueRef): string {
  return checked(typeof queue === "object" ? queue?.id : queue, queue, "queue", "the id of a queue or a Queue");
}

/** A receipt handle. */
export function handle(receiptHandle: string): string {
  if (typeof receiptHandle === "string") return receiptHandle;
  throw wrong(receiptHandle, "receipt_handle", "the receipt_handle of a message");
}

/** An id as text that can stand in a path; what a program without types may give instead is an error before a call. */
function checked(id: unknown, given: unknown, argument: string, expected: string): string {
  if (typeof id !== "string") throw wrong(given, argument, expected);
  if (["", ".", ".."].includes(id)) {
    throw new InvalidInputError(`${argument} has to be ${expected}, not ${JSON.stringify(id)}.`);
  }
  return id;
}

/** What is said of another type; never the value, which may be somebody's message. */
function wrong(given: unknown, argument: string, expected: string): InvalidInputError {
  return new InvalidInputError(`${argument} has to be ${expected}, not ${named(given)}.`);
}

function named(given: unknown): string {
  if (given === null || given === undefined) return String(given);
  return typeof given === "object" ? `an object of type ${given.constructor?.name ?? "Object"}` : `a ${typeof given}`;
}
