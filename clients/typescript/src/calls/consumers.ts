/** The calls about what the service has work on a queue. */

import { read } from "../answers.js";
import { SecretLostError } from "../errors.js";
import type * as models from "../models.js";
import * as shapes from "../shapes.js";
import { type Call, get, patch, post, remove, unique } from "./call.js";
import type { QueueRef } from "./ids.js";
import { pathOf } from "./queues.js";

export function setConsumer<Kind extends keyof models.SetConsumer>(
  mount: string,
  queue: QueueRef,
  consumer: models.SetConsumer[Kind],
): Call<models.NewConsumers[Kind]> {
  const call = post(`${pathOf(mount, queue)}/consumer`, consumer, shapes.CONSUMER, { idempotencyKey: unique() });
  return { ...call, read: (content) => withItsSecret(content) as models.NewConsumers[Kind] };
}

export function getConsumer(mount: string, queue: QueueRef): Call<models.Consumer> {
  return get(`${pathOf(mount, queue)}/consumer`, {}, shapes.CONSUMER);
}

export function updateConsumer(mount: string, queue: QueueRef, changes: models.UpdateConsumer): Call<models.Consumer> {
  return patch(`${pathOf(mount, queue)}/consumer`, changes, shapes.CONSUMER);
}

export function removeConsumer(mount: string, queue: QueueRef): Call<void> {
  return { ...remove(`${pathOf(mount, queue)}/consumer`), doneWhenAbsent: true };
}

/** The new consumer. Throws a SecretLostError for a repeated answer, which has a webhook's secret no more. */
function withItsSecret(content: Uint8Array): models.Consumer {
  const consumer: models.Consumer & { secret?: string | null } = read(shapes.CONSUMER, content);
  if (consumer.secret !== null) return consumer;
  throw new SecretLostError("The webhook was set, but the answer that showed its secret was lost, and no other will.", {
    hint: "Remove the queue's consumer and set it again.",
  });
}
