/** Any number of messages in as few requests as there can be: what `naive.queue.sendBatch` does. */

import { encode } from "./calls/call.js";
import type { QueueRef } from "./calls/ids.js";
import { isFifo, recognised, repeatableWith, sendEncoded, sendMessage } from "./calls/queues.js";
import type { Connection } from "./connection.js";
import { MAX_ATTEMPTS, MAX_BATCH_BYTES, MAX_BATCH_MESSAGES } from "./constants.js";
import { BadRequestError, NaiveError, PayloadTooLargeError, UnexpectedAnswerError } from "./errors.js";
import type { NewMessage, SendResult, SentBatch } from "./models.js";
import { backoff, entryMayRepeat } from "./retries.js";

const FRAME_BYTES: number = encode({ messages: [] }).length;

const OVERTAKING: SendResult = {
  error: {
    code: "unavailable",
    message: "Not sent: a message of the same group before it could not be sent.",
  },
};

/** Is told what became of each message, in the order they were given. */
export type OnResult = (message: NewMessage, result: SendResult) => unknown;

/** A message on its way. */
interface Entry {
  readonly message: NewMessage;
  /** The message as it travels, the same at every attempt. */
  readonly recognised: NewMessage;
  readonly encoded: string;
  readonly bytes: number;
  result?: SendResult;
}

/** Sends the messages of one call of `sendBatch`. */
export class Batches {
  readonly #connection: Connection;
  readonly #mount: string;
  readonly #queue: QueueRef;
  readonly #onResult: OnResult | undefined;
  readonly #sent: SentBatch = { results: [], sent: 0, failed: 0 };
  /** The groups of which a message was given up: nothing may overtake it. */
  readonly #givenUp = new Set<string>();
  #window: Entry[] = [];
  #bytes: number = FRAME_BYTES;

  constructor(connection: Connection, mount: string, queue: QueueRef, onResult: OnResult | undefined) {
    this.#connection = connection;
    this.#mount = mount;
    this.#queue = queue;
    this.#onResult = onResult;
  }

  /** Send them all, one request after the other; no more of them are held than one request takes. */
  async send(messages: Iterable<NewMessage> | AsyncIterable<NewMessage>): Promise<SentBatch> {
    for await (const message of messages) await this.#add(this.#entry(message));
    await this.#flush();
    return this.#sent;
  }

  #entry(message: NewMessage): Entry {
    const withItsId = recognised(this.#queue, message);
    const encoded = encode(withItsId);
    return { message, recognised: withItsId, encoded, bytes: Buffer.byteLength(encoded) + 1 };
  }

  async #add(entry: Entry): Promise<void> {
    const isFull = this.#window.length >= MAX_BATCH_MESSAGES || this.#bytes + entry.bytes - 1 > MAX_BATCH_BYTES;
    if (isFull) await this.#flush();
    this.#window.push(entry);
    this.#bytes += entry.bytes;
    if (this.#bytes - 1 > MAX_BATCH_BYTES) await this.#flush();
  }

  /** Send what is in the window until each of it has its result. */
  async #flush(): Promise<void> {
    const window = this.#window;
    this.#window = [];
    this.#bytes = FRAME_BYTES;
    for (let attempt = 1; window.length > 0; attempt += 1) {
      for (const entry of window) if (this.#wouldOvertake(entry)) entry.result ??= OVERTAKING;
      const left = window.filter((entry) => !entry.result);
      if (left.length > 0) await this.#attempt(window, left, attempt);
      await this.#tellSettled(window);
      if (window.length > 0) await this.#connection.pause(backoff(attempt, Math.random()));
    }
  }

  async #attempt(window: Entry[], left: readonly Entry[], attempt: number): Promise<void> {
    try {
      for (const [place, result] of (await this.#sendOnce(left)).entries()) this.#settle(left[place], result, attempt);
    } catch (failure) {
      if (failure instanceof NaiveError) await this.#fail(window, failure);
      throw failure;
    }
  }

  /** Say how far it came, and tell of what was in the request that failed as a whole. */
  async #fail(window: Entry[], failure: NaiveError): Promise<void> {
    await this.#tellSettled(window);
    Object.assign(failure.details, { settled: this.#sent.sent + this.#sent.failed });
    const { code, message } = failure;
    for (const { message: sent, result } of window)
      await this.#onResult?.(sent, result ?? { error: { code, message } });
  }

  /** What the server says of each. */
  async #sendOnce(entries: readonly Entry[]): Promise<SendResult[]> {
    const [only] = entries;
    if (only && entries.length === 1 && FRAME_BYTES + only.bytes - 1 > MAX_BATCH_BYTES)
      return [await this.#alone(only)];
    const repeatable = repeatableWith(
      this.#queue,
      entries.map((entry) => entry.recognised),
    );
    const encoded = entries.map((entry) => entry.encoded);
    const { results } = await this.#connection.run(sendEncoded(this.#mount, this.#queue, encoded, repeatable));
    if (results.length === entries.length) return results;
    throw new UnexpectedAnswerError("The server did not answer for each message.");
  }

  /** Send a message that is too large for a batch once it is escaped. */
  async #alone(entry: Entry): Promise<SendResult> {
    try {
      return await this.#connection.run(sendMessage(this.#mount, this.#queue, entry.recognised));
    } catch (refusal) {
      if (!(refusal instanceof BadRequestError || refusal instanceof PayloadTooLargeError)) throw refusal;
      return { error: { code: refusal.code, message: refusal.message } };
    }
  }

  #settle(entry: Entry | undefined, result: SendResult, attempt: number): void {
    if (!entry) return;
    const mayRepeat = result.error && entryMayRepeat(result.error.code);
    if (mayRepeat && attempt < MAX_ATTEMPTS) return;
    entry.result = result;
    if (mayRepeat && entry.message.group_id !== undefined) this.#givenUp.add(entry.message.group_id);
  }

  /** Tell of those at the head of the window that have their results, and take them out of it. */
  async #tellSettled(window: Entry[]): Promise<void> {
    for (let [head] = window; head?.result; [head] = window) {
      window.shift();
      this.#sent[head.result.error ? "failed" : "sent"] += 1;
      if (this.#onResult) await this.#onResult(head.message, head.result);
      else this.#sent.results.push(head.result);
    }
  }

  /** Whether it has to wait for one that was given up. On a queue that is known to be standard nothing has. */
  #wouldOvertake(entry: Entry): boolean {
    const isStandard = typeof this.#queue === "object" && !isFifo(this.#queue);
    const group = entry.message.group_id;
    return !isStandard && group !== undefined && this.#givenUp.has(group);
  }
}
