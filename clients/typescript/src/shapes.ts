/** What an answer has to look like. The compiler holds each shape in step with its model. */

import type * as models from "./models.js";

/** What is wrong with a value, which is found under this path; nothing when it fits. */
type Check = (value: unknown, path: string) => string | undefined;

/** The shape of a whole answer. */
export interface Shape<Answer> {
  readonly name: string;
  /** What is wrong with a value, without the value. */
  problem(value: unknown): string | undefined;
  /** The type it stands for; never there. */
  readonly answer?: Answer;
}

/** Whether a value is an object of texts, as attributes are. */
export function areTexts(value: unknown): value is Record<string, string> {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject && Object.values(value).every((one) => typeof one === "string");
}

const text: Check = (value, path) => (typeof value === "string" ? undefined : `${path} is not a text`);
const bool: Check = (value, path) => (typeof value === "boolean" ? undefined : `${path} is not true or false`);
const whole: Check = (value, path) => (Number.isInteger(value) ? undefined : `${path} is not a whole number`);
const time: Check = (value, path) =>
  typeof value === "string" && !Number.isNaN(Date.parse(value)) ? undefined : `${path} is not a time`;

/** An answer may leave out what is nothing. */
function maybe(check: Check): Check {
  return (value, path) => (value === null || value === undefined ? undefined : check(value, path));
}

function listOf(check: Check): Check {
  return (value, path) => {
    if (!Array.isArray(value)) return `${path} is not a list`;
    for (const [place, entry] of value.entries()) {
      const problem = check(entry, `${path}.${place}`);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
}

function object<Model>(fields: { readonly [Name in keyof Required<Model>]: Check }): Check {
  const checks = Object.entries<Check>(fields);
  return (value, path) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return `${path || "it"} is not an object`;
    for (const [name, check] of checks) {
      const problem = check((value as Record<string, unknown>)[name], path ? `${path}.${name}` : name);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
}

function shape<Answer>(name: string, check: Check): Shape<Answer> {
  return { name, problem: (value) => check(value, "") };
}

const pairs: Check = (value, path) => (areTexts(value) ? undefined : `${path} is not made of texts`);

const attributes = object<models.QueueAttributes>({
  depth: whole,
  in_flight: whole,
  delayed: whole,
  dlq_depth: maybe(whole),
});
const queue = object<models.Queue>({
  id: text,
  name: text,
  type: text,
  user_id: text,
  dlq: bool,
  max_receive_count: maybe(whole),
  visibility_timeout: whole,
  retention_seconds: whole,
  delay_seconds: whole,
  content_based_dedup: maybe(bool),
  consumer: maybe(object<models.ConsumerSummary>({ type: text, paused: bool })),
  created_at: time,
  attributes: maybe(attributes),
});
const entryError = object<models.EntryError>({ code: text, message: text });
const sendResult = object<models.SendResult>({
  message_id: maybe(text),
  sequence_number: maybe(text),
  error: maybe(entryError),
});
const deadLetterFields = {
  message_id: text,
  body: text,
  receive_count: whole,
  sent_at: time,
  group_id: maybe(text),
  dedup_id: maybe(text),
  sequence_number: maybe(text),
  attributes: maybe(pairs),
};
const deadLetter = object<models.DeadLetter>(deadLetterFields);
const message = object<models.Message>({ ...deadLetterFields, receipt_handle: text, lease_expires_at: time });
const settleResults = listOf(
  object<models.SettleResult>({ ok: maybe(bool), lease_expires_at: maybe(time), error: maybe(entryError) }),
);
const user = object<models.User>({
  id: text,
  external_id: maybe(text),
  email: maybe(text),
  label: maybe(text),
  status: text,
  is_default: bool,
  created_at: time,
});
const keyFields = {
  key_id: text,
  name: text,
  last_4: text,
  active_tenant_user_id: maybe(text),
  created_at: time,
};
const key = object<models.Key>({ ...keyFields, last_used_at: maybe(time), revoked: maybe(bool) });

// What else a consumer has is its kind's, and there may come new ones.
const consumer = object<models.ConsumerFacts & { type: string }>({ type: text, paused: bool, created_at: time });
const service = object<models.Service>({
  id: text,
  name: text,
  type: text,
  image: text,
  command: listOf(text),
  cpu: whole,
  memory: whole,
  queue_id: maybe(text),
  desired: whole,
  running: whole,
  status: text,
  last_scaled_at: maybe(time),
  last_scale_reason: maybe(text),
  created_at: time,
});

export const QUEUE: Shape<models.Queue> = shape("Queue", queue);
export const QUEUE_PAGE: Shape<models.QueuePage> = shape(
  "QueuePage",
  object<models.QueuePage>({ queues: listOf(queue), next_cursor: maybe(text) }),
);
export const QUEUE_ATTRIBUTES: Shape<models.QueueAttributes> = shape("QueueAttributes", attributes);
export const PURGING: Shape<models.Purging> = shape("Purging", object<models.Purging>({ status: text, done_by: time }));
export const SENT_MESSAGE: Shape<models.SentMessage> = shape(
  "SentMessage",
  object<models.SentMessage>({ message_id: text, sequence_number: maybe(text) }),
);
export const SENT_BATCH: Shape<Pick<models.SentBatch, "results">> = shape(
  "SentBatch",
  object<Pick<models.SentBatch, "results">>({ results: listOf(sendResult) }),
);
export const RECEIVED: Shape<models.Received> = shape(
  "Received",
  object<models.Received>({ messages: listOf(message) }),
);
export const DEAD_LETTERS: Shape<models.DeadLetters> = shape(
  "DeadLetters",
  object<models.DeadLetters>({ messages: listOf(deadLetter) }),
);
export const LEASE_END: Shape<models.LeaseEnd> = shape("Lease", object<models.LeaseEnd>({ lease_expires_at: time }));
export const SETTLED: Shape<Partial<models.Settled>> = shape(
  "Settled",
  object<models.Settled>({ ack: maybe(settleResults), retry: maybe(settleResults), extend: maybe(settleResults) }),
);
export const REDRIVEN: Shape<Partial<models.Redriven> & Pick<models.Redriven, "moved" | "remaining">> = shape(
  "Redriven",
  object<models.Redriven>({
    moved: whole,
    remaining: whole,
    not_found: maybe(listOf(text)),
    not_reached: maybe(listOf(text)),
  }),
);
export const USER: Shape<models.User> = shape("User", user);
export const USER_PAGE: Shape<models.UserPage> = shape(
  "UserPage",
  object<models.UserPage>({ users: listOf(user), next_cursor: maybe(text) }),
);
export const KEY_FACTS: Shape<models.KeyFacts> = shape("Key", object<models.KeyFacts>(keyFields));
export const NEW_KEY: Shape<models.NewKey> = shape("NewKey", object<models.NewKey>({ ...keyFields, api_key: text }));
export const KEY_PAGE: Shape<models.KeyPage> = shape(
  "KeyPage",
  object<models.KeyPage>({ keys: listOf(key), next_cursor: maybe(text) }),
);
export const CONSUMER: Shape<models.Consumer> = shape("Consumer", consumer);
export const SERVICE: Shape<models.Service> = shape("Service", service);
export const SERVICE_PAGE: Shape<models.ServicePage> = shape(
  "ServicePage",
  object<models.ServicePage>({ services: listOf(service), next_cursor: maybe(text) }),
);
export const LOGS: Shape<models.Logs> = shape(
  "Logs",
  object<models.Logs>({
    lines: listOf(object<models.LogLine>({ time, message: text })),
    next_cursor: maybe(text),
  }),
);
