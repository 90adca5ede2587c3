/** Traces that go on from who sends a message to who works on it. */

import { context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type NewMessage, Retry } from "../../src/index.js";
import { traced } from "../../src/otel.js";
import { table } from "./cases.js";
import { FakeQueue, QUEUE_ID } from "./fake-queue.js";

let queue: FakeQueue;

beforeEach(() => {
  queue = new FakeQueue();
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
});

afterEach(() => {
  context.disable();
  propagation.disable();
  trace.disable();
});

describe("without a place for spans", () => {
  it.each(table.traces)("$name", async ({ traceparent, attributes, sent }) => {
    const active = propagation.extract(context.active(), { traceparent });
    const queues = traced(queue.client().queue);
    await context.with(active, async () => {
      await queues.send(QUEUE_ID, "x", { attributes });
      await queues.sendBatch(QUEUE_ID, [{ body: "y", attributes }]);
    });
    expect(queue.sent.map((message) => message.attributes)).toEqual([sent, sent]);
  });

  it("nothing is added where there is no trace", async () => {
    await traced(queue.client().queue).send(QUEUE_ID, "x");
    expect(queue.sent).toEqual([{ body: "x" }]);
  });

  it("all other calls are as they were", async () => {
    const queues = traced(queue.client().queue);
    expect((await queues.get(QUEUE_ID)).id).toBe(QUEUE_ID);
    expect(queues.consumer).toBeDefined();
  });
});

describe("with a place for spans", () => {
  const exporter = new InMemorySpanExporter();

  beforeEach(() => {
    exporter.reset();
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  });

  function only(kind: SpanKind): ReadableSpan {
    const spans = exporter.getFinishedSpans().filter((span) => span.kind === kind);
    expect(spans).toHaveLength(1);
    return spans[0] as ReadableSpan;
  }

  it("the work on a message follows the span that sent it", async () => {
    const queues = traced(queue.client().queue);
    const { message_id } = await queues.send(QUEUE_ID, "x");
    let active: string | undefined;
    const counts = await queues.consume(
      QUEUE_ID,
      () => {
        active = trace.getActiveSpan()?.spanContext().spanId;
      },
      { idle_exit: 0, wait: 0 },
    );
    const [producer, consumer] = [only(SpanKind.PRODUCER), only(SpanKind.CONSUMER)];
    expect(counts.done).toBe(1);
    expect(consumer.parentSpanContext?.spanId).toBe(producer.spanContext().spanId);
    expect(consumer.spanContext().traceId).toBe(producer.spanContext().traceId);
    expect(active).toBe(consumer.spanContext().spanId);
    expect([producer.name, consumer.name]).toEqual([`send ${QUEUE_ID}`, `process ${QUEUE_ID}`]);
    expect([producer, consumer].map((span) => span.attributes["messaging.message.id"])).toEqual([
      message_id,
      message_id,
    ]);
  });

  it("a batch is one span, and its results are told of the messages as they were given", async () => {
    const told: NewMessage[] = [];
    const messages = Array.from({ length: 120 }, (_, n) => ({ body: String(n) }));
    await traced(queue.client().queue).sendBatch(QUEUE_ID, messages, { onResult: (message) => told.push(message) });
    const producer = only(SpanKind.PRODUCER).spanContext();
    expect(told.every((message, n) => message === messages[n])).toBe(true);
    expect(new Set(queue.sent.map((message) => message.attributes?.traceparent))).toEqual(
      new Set([`00-${producer.traceId}-${producer.spanId}-01`]),
    );
  });

  it.each([
    [new Error("no way"), SpanStatusCode.ERROR],
    ["no way", SpanStatusCode.ERROR],
    [new Retry({ after: 5 }), SpanStatusCode.UNSET],
  ])("a handler that throws %s ends its span with status %i", async (thrown, status) => {
    const logger = { warn: vi.fn(), error: vi.fn() };
    queue.put(["a"]);
    const work = () => {
      throw thrown;
    };
    await traced(queue.client().queue).consume(QUEUE_ID, work, { idle_exit: 0, wait: 0, logger });
    expect(only(SpanKind.CONSUMER).status.code).toBe(status);
    expect(queue.givenBack).toHaveLength(1);
  });
});
