"""Spans of OpenTelemetry, and how their context travels in the attributes of messages; nothing here sends or waits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from naive.calls.ids import QueueRef, queue_id
from naive.constants import MAX_ATTRIBUTES, VERSION
from naive.consumer.delivery import Delivery, Retry
from naive.models import NewMessage

try:
    from opentelemetry import context, propagate, trace
    from opentelemetry.trace import Span, SpanKind, Status, StatusCode
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"{missing.name} is not installed. Traces need: pip install 'naive-queue[otel]'", name=missing.name
    ) from missing

MESSAGE_ID = "messaging.message.id"
MESSAGE_COUNT = "messaging.batch.message_count"


@contextmanager
def sending(queue: QueueRef) -> Iterator[Span]:
    """The span of whatever is sent in the block."""
    with _span("send", SpanKind.PRODUCER, queue_id(queue), {}) as span:
        yield span


@contextmanager
def processing(queue: QueueRef, message: Delivery) -> Iterator[None]:
    """The span of the work on a message, which follows the one that sent it."""
    producer = context.attach(propagate.extract(message.attributes or {}))
    try:
        with _span("process", SpanKind.CONSUMER, queue_id(queue), {MESSAGE_ID: message.message_id}):
            yield
    finally:
        context.detach(producer)


def carrying(message: NewMessage) -> NewMessage:
    """The message with the context among its attributes."""
    return {**message, "attributes": with_context(message.get("attributes"))}


def with_context(attributes: Mapping[str, str] | None) -> Mapping[str, str] | None:
    """The attributes with the context of the active span, where there is room and it is not there already."""
    given = attributes or {}
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    added = dict(list(carrier.items())[: max(0, MAX_ATTRIBUTES - len(given))])
    return attributes if not added or added.keys() & given.keys() else {**given, **added}


@contextmanager
def _span(
    operation: Literal["send", "process"], kind: SpanKind, queue: str, attributes: Mapping[str, str]
) -> Iterator[Span]:
    about = {
        "messaging.system": "naive",
        "messaging.operation.type": operation,
        "messaging.destination.name": queue,
        **attributes,
    }
    tracer = trace.get_tracer("naive-queue", VERSION)
    with tracer.start_as_current_span(
        f"{operation} {queue}", kind=kind, attributes=about, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield span
        except Retry:  # nothing failed: the message comes later, as it was asked for
            raise
        except BaseException as error:
            span.record_exception(error)
            span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
            raise
