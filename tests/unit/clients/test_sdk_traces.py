"""Traces that go on from who sends a message to who works on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from naive import Counts, Delivery, Naive, NewMessage, Retry, SendResult, UnauthorizedError
from naive.otel import traced
from tests.unit.clients.fake_api import QUEUE_ID
from tests.unit.clients.fake_queue import FakeQueue, failure
from tests.unit.clients.shared_cases import TABLE

Spans = Callable[[SpanKind], list[ReadableSpan]]

STATE = {"tracestate": "vendor=1"}
TRACE = {"traceparent": TABLE["traces"][0]["traceparent"]}


@pytest.fixture
def queue() -> FakeQueue:
    return FakeQueue()


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Spans:
    """The spans of a kind that have ended so far; a program has set this up."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return lambda kind: [span for span in exporter.get_finished_spans() if span.kind is kind]


@pytest.fixture
def active(request: pytest.FixtureRequest) -> Iterator[None]:
    """A context that came from elsewhere, as the mark says."""
    token = context.attach(TraceContextTextMapPropagator().extract(request.param))
    yield
    context.detach(token)


def in_context(*contexts: Mapping[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("active", contexts, indirect=True)


def idle(client: Naive, handler: Callable[[Delivery], object]) -> Counts:
    """Work on what is there."""
    return traced(client.queue).consume(QUEUE_ID, handler, idle_exit=0, wait=0)


def sent_through(queue: FakeQueue, attributes: Mapping[str, str] | None) -> list[Any]:
    """The attributes of messages that were sent by each of the four ways to send."""

    async def send() -> None:
        async with queue.async_client() as client:
            queues = traced(client.queue)
            await queues.send(QUEUE_ID, "x", attributes=attributes)
            await queues.send_batch(QUEUE_ID, [NewMessage(body="x", attributes=attributes)])

    queues = traced(queue.client().queue)
    queues.send(QUEUE_ID, "x", attributes=attributes)
    queues.send_batch(QUEUE_ID, [NewMessage(body="x", attributes=attributes)])
    asyncio.run(send())
    return [message.get("attributes") for message in queue.sent]


@in_context(TRACE)
@pytest.mark.usefixtures("active")
@pytest.mark.parametrize("case", TABLE["traces"], ids=lambda case: case["name"])
def test_a_context_travels_as_with_every_client(case: Any, queue: FakeQueue) -> None:
    assert case["traceparent"] == TRACE["traceparent"]
    assert sent_through(queue, case["attributes"]) == [case["sent"]] * 4


@in_context(TRACE | STATE)
@pytest.mark.usefixtures("active")
def test_the_state_of_a_trace_travels_too_where_there_is_room(queue: FakeQueue) -> None:
    nine = {str(place): "x" for place in range(9)}
    assert sent_through(queue, None) == [TRACE | STATE] * 4
    assert sent_through(queue, nine)[4:] == [nine | TRACE] * 4


def test_nothing_is_added_where_there_is_no_trace(queue: FakeQueue) -> None:
    sent_through(queue, None)
    assert queue.sent == [{"body": "x"}] * 4


@in_context(TRACE)
@pytest.mark.usefixtures("active")
def test_a_handler_that_sends_goes_on_with_the_trace_even_where_spans_have_no_place(queue: FakeQueue) -> None:
    client = queue.client()
    traced(client.queue).send(QUEUE_ID, "x")

    def work(message: Delivery) -> None:
        if message.body == "x":
            traced(client.queue).send(QUEUE_ID, "y")

    idle(client, work)
    assert [message["attributes"] for message in queue.sent] == [TRACE, TRACE]


def test_all_other_calls_are_as_they_were(queue: FakeQueue) -> None:
    client = queue.client().for_user("u-1")
    queues = traced(client.queue)
    assert queues.get(QUEUE_ID).id == QUEUE_ID
    assert queues.consumer is not None
    assert {path.split("/")[3] for path in queue.requests} == {"u-1"}


def by_threads(queue: FakeQueue, active: list[int]) -> Counts:
    client = queue.client()
    traced(client.queue).send(QUEUE_ID, "x")
    return idle(client, lambda _: active.append(current()))


def by_tasks(queue: FakeQueue, active: list[int]) -> Counts:
    async def work(_: Delivery) -> None:
        await asyncio.sleep(0)
        active.append(current())

    async def run() -> Counts:
        async with queue.async_client() as client:
            queues = traced(client.queue)
            await queues.send(QUEUE_ID, "x")
            return await queues.consume(QUEUE_ID, work, idle_exit=0, wait=0)

    return asyncio.run(run())


def current() -> int:
    return trace.get_current_span().get_span_context().span_id


@pytest.mark.parametrize("run", [by_threads, by_tasks])
def test_the_work_on_a_message_follows_the_span_that_sent_it(
    run: Callable[[FakeQueue, list[int]], Counts], queue: FakeQueue, spans: Spans
) -> None:
    active: list[int] = []
    assert run(queue, active).done == 1
    (producer,), (consumer,) = spans(SpanKind.PRODUCER), spans(SpanKind.CONSUMER)
    assert consumer.parent is not None
    assert (consumer.parent.trace_id, consumer.parent.span_id) == (producer.context.trace_id, producer.context.span_id)
    assert active == [consumer.context.span_id]
    assert [producer.name, consumer.name] == [f"send {QUEUE_ID}", f"process {QUEUE_ID}"]
    about = {"messaging.system": "naive", "messaging.destination.name": QUEUE_ID, "messaging.message.id": "m-1"}
    assert producer.attributes == about | {"messaging.operation.type": "send"}
    assert consumer.attributes == about | {"messaging.operation.type": "process"}


def told_by_threads(queue: FakeQueue, messages: list[NewMessage], told: list[NewMessage]) -> None:
    traced(queue.client().queue).send_batch(QUEUE_ID, messages, on_result=lambda message, _: told.append(message))


def told_by_tasks(queue: FakeQueue, messages: list[NewMessage], told: list[NewMessage]) -> None:
    async def stream() -> AsyncIterator[NewMessage]:
        for message in messages:
            yield message

    async def tell(message: NewMessage, result: SendResult) -> None:
        told.append(message)

    async def run() -> None:
        async with queue.async_client() as client:
            await traced(client.queue).send_batch(QUEUE_ID, stream(), on_result=tell)

    asyncio.run(run())


@pytest.mark.parametrize("send", [told_by_threads, told_by_tasks])
def test_a_batch_is_one_span_and_its_results_are_told_of_the_messages_as_they_were_given(
    send: Callable[[FakeQueue, list[NewMessage], list[NewMessage]], None], queue: FakeQueue, spans: Spans
) -> None:
    messages = [NewMessage(body=str(number)) for number in range(120)]
    told: list[NewMessage] = []
    send(queue, messages, told)
    (producer,) = spans(SpanKind.PRODUCER)
    ids = f"{producer.context.trace_id:032x}-{producer.context.span_id:016x}"
    carried = {message["attributes"]["traceparent"] for message in queue.sent}
    assert [message["body"] for message in queue.sent] == [message["body"] for message in messages]
    assert [traceparent[3:-3] for traceparent in carried] == [ids]
    assert all(one is other for one, other in zip(told, messages, strict=True))
    assert (producer.attributes or {})["messaging.batch.message_count"] == 120


@pytest.mark.parametrize(
    ("raised", "status"),
    [(ValueError("no way"), StatusCode.ERROR), (SystemExit(1), StatusCode.ERROR), (Retry(after=5), StatusCode.UNSET)],
    ids=repr,
)
def test_a_handler_that_raises_ends_its_span_with_what_happened(
    raised: BaseException, status: StatusCode, queue: FakeQueue, spans: Spans
) -> None:
    def work(_: Delivery) -> None:
        raise raised

    queue.put("a")
    idle(queue.client(), work)
    (consumer,) = spans(SpanKind.CONSUMER)
    assert consumer.status.status_code is status
    assert len(consumer.events) == (status is StatusCode.ERROR)
    assert len(queue.given_back) == 1


def test_a_send_that_fails_ends_its_span_with_the_error(queue: FakeQueue, spans: Spans) -> None:
    queue.intercept = lambda method, path: failure(401, "unauthorized")
    with pytest.raises(UnauthorizedError):
        traced(queue.client().queue).send(QUEUE_ID, "x")
    (producer,) = spans(SpanKind.PRODUCER)
    assert producer.status.status_code is StatusCode.ERROR
    assert str(producer.status.description).startswith("UnauthorizedError: This is unauthorized.")


def test_a_handler_of_the_wrong_kind_is_refused_as_it_is_without_traces(queue: FakeQueue) -> None:
    async def work(_: Delivery) -> None: ...

    with pytest.raises(TypeError, match="asynchronous"):
        idle(queue.client(), work)
