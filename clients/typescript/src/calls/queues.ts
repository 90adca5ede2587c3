/** The calls about queues and their messages. */

import { MAX_WAIT } from "../constants.js";
import type * as models from "../models.js";
import type { Repeatable } from "../retries.js";
import * as shapes from "../shapes.js";
import { answerAs, type Call, get, patch, post, remove, segment, unique } from "./call.js";
import { handle, type QueueRef, queueId } from "./ids.js";

export function createQueue(mount: string, queue: models.CreateQueue): Call<models.Queue> {
  return post(`${mount}/queue`, queue, shapes.QUEUE, { idempotencyKey: unique() });
}

export function listQueues(mount: string, query: models.PageOptions & { name?: string }): Call<models.QueuePage> {
  return get(`${mount}/queue`, query, shapes.QUEUE_PAGE);
}

export function getQueue(mount: string, queue: QueueRef): Call<models.Queue> {
  return get(pathOf(mount, queue), {}, shapes.QUEUE);
}

export function updateQueue(mount: string, queue: QueueRef, changes: models.UpdateQueue): Call<models.Queue> {
  return patch(pathOf(mount, queue), changes, shapes.QUEUE);
}

export function queueAttributes(mount: string, queue: QueueRef): Call<models.QueueAttributes> {
  return get(`${pathOf(mount, queue)}/attributes`, {}, shapes.QUEUE_ATTRIBUTES);
}

export function purgeQueue(mount: string, queue: QueueRef): Call<models.Purging> {
  return post(`${pathOf(mount, queue)}/purge`, undefined, shapes.PURGING, { idempotencyKey: unique() });
}

export function destroyQueue(mount: string, queue: QueueRef): Call<void> {
  return { ...remove(pathOf(mount, queue)), doneWhenAbsent: true };
}

export function sendMessage(mount: string, queue: QueueRef, message: models.NewMessage): Call<models.SentMessage> {
  const recognisable = recognised(queue, message);
  const repeatable = repeatableWith(queue, [recognisable]);
  return post(`${pathOf(mount, queue)}/messages`, recognisable, shapes.SENT_MESSAGE, { repeatable });
}

/** One call with these messages, each encoded already; `repeatable` is of all of them. */
export function sendEncoded(
  mount: string,
  queue: QueueRef,
  messages: readonly string[],
  repeatable: Repeatable,
): Call<Pick<models.SentBatch, "results">> {
  const path = `${pathOf(mount, queue)}/messages/batch`;
  const body = `{"messages":[${messages.join(",")}]}`;
  return { method: "POST", path, read: answerAs(shapes.SENT_BATCH), body, repeatable };
}

export function receiveMessages(mount: string, queue: QueueRef, options: models.ReceiveOptions): Call<models.Received> {
  const { max, wait, visibility } = options;
  const call = get(`${pathOf(mount, queue)}/messages`, { max, wait, visibility }, shapes.RECEIVED);
  return { ...call, repeatable: "unless_run", wait: patience(wait) };
}

export function ackMessage(mount: string, queue: QueueRef, receiptHandle: string): Call<void> {
  const query = { receipt_handle: handle(receiptHandle) };
  return remove(`${pathOf(mount, queue)}/messages`, query);
}

export function extendMessage(
  mount: string,
  queue: QueueRef,
  receiptHandle: string,
  visibility: number,
): Call<models.LeaseEnd> {
  const body = { receipt_handle: handle(receiptHandle), visibility };
  return patch(`${pathOf(mount, queue)}/messages`, body, shapes.LEASE_END);
}

export function settleMessages(mount: string, queue: QueueRef, settle: models.Settle): Call<models.Settled> {
  const { ack, retry, extend } = settle;
  const call = post(`${pathOf(mount, queue)}/messages/settle`, { ack, retry, extend }, shapes.SETTLED);
  return { ...call, read: (content) => ({ ack: [], retry: [], extend: [], ...call.read(content) }) };
}

export function peekDlq(mount: string, queue: QueueRef, options: { max?: number }): Call<models.DeadLetters> {
  return get(`${pathOf(mount, queue)}/dlq/messages`, options, shapes.DEAD_LETTERS);
}

export function purgeDlq(mount: string, queue: QueueRef): Call<models.Purging> {
  return post(`${pathOf(mount, queue)}/dlq/purge`, undefined, shapes.PURGING, { idempotencyKey: unique() });
}

export function redrive(
  mount: string,
  queue: QueueRef,
  which: { max?: number; message_ids?: readonly string[] },
): Call<models.Redriven> {
  const call = post(`${pathOf(mount, queue)}/redrive`, which, shapes.REDRIVEN, { idempotencyKey: unique() });
  return { ...call, read: (content) => ({ not_found: [], not_reached: [], ...call.read(content) }) };
}

/** The message with a dedup id where the queue is known to need one. */
export function recognised(queue: QueueRef, message: models.NewMessage): models.NewMessage {
  const needsOne = isFifo(queue) && !queue.content_based_dedup && !message.dedup_id;
  return needsOne ? { ...message, dedup_id: unique() } : message;
}

/** A message that the queue will recognise the second time may be sent again after any failure. */
export function repeatableWith(queue: QueueRef, messages: readonly models.NewMessage[]): Repeatable {
  const areRecognised = isFifo(queue) || messages.every((message) => message.dedup_id);
  return areRecognised ? "always" : "unless_accepted";
}

export function isFifo(queue: QueueRef): queue is models.Queue<"fifo"> {
  return typeof queue === "object" && queue.type === "fifo";
}

/** The path of a queue. */
export function pathOf(mount: string, queue: QueueRef): string {
  return `${mount}/queue/${segment(queueId(queue))}`;
}

/** The seconds that a server may wait; it refuses to wait for any other number. */
function patience(wait: unknown): number {
  return typeof wait === "number" && wait > 0 ? Math.min(wait, MAX_WAIT) : 0;
}
