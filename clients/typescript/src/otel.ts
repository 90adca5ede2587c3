/**
 * Traces that go on from who sends a message to who works on it: `import { traced } from "naive-queue/otel"`.
 *
 * The one module that needs `@opentelemetry/api`. How the context is written, and where spans go, is your program's
 * own set-up of OpenTelemetry.
 */

import { type Attributes, context, propagation, type Span, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { OnResult } from "./batches.js";
import type { QueueRef } from "./calls/ids.js";
import { queueId } from "./calls/ids.js";
import { MAX_ATTRIBUTES, VERSION } from "./constants.js";
import { type Delivery, isRetry } from "./consumer/delivery.js";
import type { ConsumeOptions, Consuming, Handler } from "./consumer/runner.js";
import type { NewMessage, SendOptions, SentBatch, SentMessage } from "./models.js";
import type { Queues } from "./queues.js";

/**
 * The same calls, traced: `send` and `sendBatch` are spans whose context travels in the messages' attributes, and each
 * message that `consume` hands to its handler is a span that follows the one that sent it.
 *
 * An attribute that is there already is never replaced, and where a message has ten there is no room for the context.
 */
export function traced(queues: Queues): Queues {
  const instead: Record<PropertyKey, unknown> = {
    send: (queue: QueueRef, body: string, options: SendOptions = {}) => send(queues, queue, body, options),
    sendBatch: (queue: QueueRef, messages: Messages, options: { onResult?: OnResult } = {}) =>
      sendBatch(queues, queue, messages, options.onResult),
    consume: (queue: QueueRef, handler: Handler, options: ConsumeOptions = {}): Consuming =>
      queues.consume(queue, (message) => handle(queue, handler, message), options),
  };
  return new Proxy(queues, {
    get(target, name) {
      if (Object.hasOwn(instead, name)) return instead[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

type Messages = Iterable<NewMessage> | AsyncIterable<NewMessage>;

async function send(queues: Queues, queue: QueueRef, body: string, options: SendOptions): Promise<SentMessage> {
  return inSpan("send", SpanKind.PRODUCER, queue, {}, async (span) => {
    const sent = await queues.send(queue, body, withContext(options));
    span.setAttribute("messaging.message.id", sent.message_id);
    return sent;
  });
}

async function sendBatch(
  queues: Queues,
  queue: QueueRef,
  messages: Messages,
  onResult: OnResult | undefined,
): Promise<SentBatch> {
  const given: NewMessage[] = []; // those whose results are not told yet, as they were before they had a context
  async function* carrying(): AsyncGenerator<NewMessage, void> {
    for await (const message of messages) {
      if (onResult) given.push(message);
      yield withContext(message);
    }
  }
  const tell: OnResult = (message, result) => onResult?.(given.shift() ?? message, result);
  return inSpan("send", SpanKind.PRODUCER, queue, {}, async (span) => {
    const batch = await queues.sendBatch(queue, carrying(), onResult ? { onResult: tell } : {});
    span.setAttribute("messaging.batch.message_count", batch.sent + batch.failed);
    return batch;
  });
}

async function handle(queue: QueueRef, handler: Handler, message: Delivery): Promise<unknown> {
  const attributes = { "messaging.message.id": message.message_id };
  const producer = propagation.extract(context.active(), message.attributes ?? {});
  return context.with(producer, () =>
    inSpan("process", SpanKind.CONSUMER, queue, attributes, async () => handler(message)),
  );
}

/** Do something in a span of its own, which ends with it. */
async function inSpan<Result>(
  operation: "send" | "process",
  kind: SpanKind,
  queue: QueueRef,
  attributes: Attributes,
  act: (span: Span) => Promise<Result>,
): Promise<Result> {
  const id = queueId(queue);
  const about = {
    "messaging.system": "naive",
    "messaging.operation.type": operation,
    "messaging.destination.name": id,
    ...attributes,
  };
  const tracer = trace.getTracer("naive-queue", VERSION);
  return tracer.startActiveSpan(`${operation} ${id}`, { kind, attributes: about }, async (span) => {
    try {
      return await act(span);
    } catch (error) {
      if (!isRetry(error)) fail(span, error);
      throw error;
    } finally {
      span.end();
    }
  });
}

function fail(span: Span, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  span.recordException(error instanceof Error ? error : message);
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}

/** A message with the context of the active span among its attributes, where there is room and it has none. */
function withContext<Fields extends SendOptions>(fields: Fields): Fields {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  const attributes = fields.attributes ?? {};
  const room = MAX_ATTRIBUTES - Object.keys(attributes).length;
  const added = Object.entries(carrier).slice(0, Math.max(0, room));
  if (added.length === 0 || added.some(([name]) => name in attributes)) return fields;
  return { ...fields, attributes: { ...attributes, ...Object.fromEntries(added) } };
}
