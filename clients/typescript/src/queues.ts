/** Queues and their messages: the calls of `naive.queue`. */

import { Batches, type OnResult } from "./batches.js";
import type { QueueRef } from "./calls/ids.js";
import * as calls from "./calls/queues.js";
import type { Connection } from "./connection.js";
import { type ConsumeOptions, type Consuming, consume, type Handler } from "./consumer/runner.js";
import { Consumers } from "./consumers.js";
import type * as models from "./models.js";
import { eachOf } from "./pages.js";

/** What goes with a message: nothing is needed, but for a group on a queue that is known to be fifo. */
export type SendArguments<Type extends models.QueueType> = [Type] extends ["fifo"]
  ? [options: models.FifoSendOptions]
  : [options?: models.SendOptions];

/** A message for a batch, which on a queue that is known to be fifo has a group. */
export type MessageFor<Type extends models.QueueType> = [Type] extends ["fifo"]
  ? models.NewFifoMessage
  : models.NewMessage;

/**
 * One user's queues. A queue is named by its id or by the `Queue` itself.
 *
 * A `Queue` tells more than an id: messages for a fifo queue then always have a dedup id, so that a send can be
 * repeated safely after any failure.
 */
export class Queues {
  /** What the service has work on them. */
  readonly consumer: Consumers;
  readonly #connection: Connection;
  readonly #mount: string;

  constructor(connection: Connection, mount: string) {
    this.#connection = connection;
    this.#mount = mount;
    this.consumer = new Consumers(connection, mount);
  }

  /** Make a queue; what is left out is the server's default. */
  async create<Type extends models.QueueType = "standard">(
    queue: models.CreateQueue<Type>,
  ): Promise<models.Queue<Type>> {
    return (await this.#connection.run(calls.createQueue(this.#mount, queue))) as models.Queue<Type>;
  }

  /** One page of queues by name, or with `name` the one that is called so. */
  async list(query: models.PageOptions & { name?: string } = {}): Promise<models.QueuePage> {
    return this.#connection.run(calls.listQueues(this.#mount, query));
  }

  /** All queues by name, page by page as they are iterated over. */
  listAll(query: { limit?: number } = {}): AsyncGenerator<models.Queue, void> {
    return eachOf(query, (page) => this.list(page), "queues");
  }

  /** A queue with its attributes. */
  async get(queue: QueueRef): Promise<models.Queue> {
    return this.#connection.run(calls.getQueue(this.#mount, queue));
  }

  /** Change a queue's settings; what is left out stays. */
  async update(queue: QueueRef, changes: models.UpdateQueue): Promise<models.Queue> {
    return this.#connection.run(calls.updateQueue(this.#mount, queue, changes));
  }

  /** How many messages are ready, in flight, delayed and dead-lettered, approximately. */
  async attributes(queue: QueueRef): Promise<models.QueueAttributes> {
    return this.#connection.run(calls.queueAttributes(this.#mount, queue));
  }

  /** Delete every message of a queue; it takes until `done_by`. */
  async purge(queue: QueueRef): Promise<models.Purging> {
    return this.#connection.run(calls.purgeQueue(this.#mount, queue));
  }

  /** Delete a queue with its messages and its dead-letter queue. */
  async destroy(queue: QueueRef): Promise<void> {
    await this.#connection.run(calls.destroyQueue(this.#mount, queue));
  }

  /**
   * Send one message; its body arrives exactly as it is.
   *
   * Without a dedup id the send is repeated only when the message was surely not accepted. After a `NoAnswerError` or
   * an `InternalError` the message may therefore be on the queue or not.
   */
  async send<Type extends models.QueueType = models.QueueType>(
    queue: QueueRef<Type>,
    body: string,
    ...[options]: SendArguments<Type>
  ): Promise<models.SentMessage> {
    return this.#connection.run(calls.sendMessage(this.#mount, queue, { ...options, body }));
  }

  /**
   * Send any number of messages, up to 100 or 2 MiB in a request; each succeeds or fails alone, so look at the results.
   *
   * Those that failed for the moment are sent again. With `onResult`, which is told of each message in order, `results`
   * stays empty: then a stream of any length takes little memory. When a request fails as a whole, `onResult` is told so
   * of the messages in it, and the error is thrown; its `details.settled` is how many messages from the start have a
   * result of their own.
   */
  async sendBatch<Type extends models.QueueType = models.QueueType>(
    queue: QueueRef<Type>,
    messages: Iterable<MessageFor<Type>> | AsyncIterable<MessageFor<Type>>,
    options: { onResult?: OnResult } = {},
  ): Promise<models.SentBatch> {
    return new Batches(this.#connection, this.#mount, queue, options.onResult).send(messages);
  }

  /** Lease up to `max` messages, waiting up to `wait` seconds for the first. */
  async receive(queue: QueueRef, options: models.ReceiveOptions = {}): Promise<models.Received> {
    return this.#connection.run(calls.receiveMessages(this.#mount, queue, options));
  }

  /** Delete a message whose work is done. */
  async ack(queue: QueueRef, receiptHandle: string): Promise<void> {
    await this.#connection.run(calls.ackMessage(this.#mount, queue, receiptHandle));
  }

  /** Give a message back, to be received again after `delay_seconds`. */
  async retry(
    queue: QueueRef,
    receiptHandle: string,
    options: { delay_seconds?: number } = {},
  ): Promise<models.LeaseEnd> {
    const delay = options.delay_seconds ?? 0;
    return this.#connection.run(calls.extendMessage(this.#mount, queue, receiptHandle, delay));
  }

  /** Keep a message for `visibility` more seconds from now. */
  async extend(queue: QueueRef, receiptHandle: string, visibility: number): Promise<models.LeaseEnd> {
    return this.#connection.run(calls.extendMessage(this.#mount, queue, receiptHandle, visibility));
  }

  /** Ack, give back and keep up to 100 messages in one call; each succeeds or fails alone. */
  async settle(queue: QueueRef, settle: models.Settle): Promise<models.Settled> {
    return this.#connection.run(calls.settleMessages(this.#mount, queue, settle));
  }

  /**
   * Give each message to the handler, up to `concurrency` at once, until stopped.
   *
   * A message is kept leased while its handler runs, acked when it has returned, and given back when it throws: after a
   * delay that grows with each receive, or after what a `Retry` says. It stops by `stop()` of what this answers, by an
   * abort of `signal`, by SIGTERM or SIGINT, and after `idle_exit` seconds without a message. Handlers that run then
   * have `drain_seconds` to finish; a second signal, or `stopNow()`, does not wait for them.
   *
   * An error after which no call can succeed, such as a key that was revoked, is thrown when the drain is over.
   */
  consume(queue: QueueRef, handler: Handler, options: ConsumeOptions = {}): Consuming {
    const find = async () => (typeof queue === "object" && queue !== null ? queue : this.get(queue));
    return consume({ connection: this.#connection, mount: this.#mount, find }, handler, options);
  }

  /** Look at dead-lettered messages without taking them. */
  async peekDlq(queue: QueueRef, options: { max?: number } = {}): Promise<models.DeadLetters> {
    return this.#connection.run(calls.peekDlq(this.#mount, queue, options));
  }

  /** Delete every dead-lettered message; it takes until `done_by`. */
  async purgeDlq(queue: QueueRef): Promise<models.Purging> {
    return this.#connection.run(calls.purgeDlq(this.#mount, queue));
  }

  /** Move dead-lettered messages back to the queue: up to `max` of them, or those named. */
  async redrive(
    queue: QueueRef,
    which: { max?: number; message_ids?: readonly string[] } = {},
  ): Promise<models.Redriven> {
    return this.#connection.run(calls.redrive(this.#mount, queue, which));
  }
}
