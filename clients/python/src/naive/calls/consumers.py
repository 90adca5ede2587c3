"""The calls about what works a queue off."""

from __future__ import annotations

from naive.answers import read
from naive.calls.call import Call, answer_as, given, nothing, unique
from naive.calls.ids import QueueRef, ServiceRef, service_id
from naive.calls.queues import queue_path
from naive.errors import SecretLostError
from naive.models import Consumer, ConsumerType, NewConsumer


def set_consumer(
    mount: str,
    queue: QueueRef,
    type: ConsumerType,
    function: str | None,
    url: str | None,
    service: ServiceRef | None,
    batch_size: int | None,
    max_concurrency: int | None,
    min: int | None,
    max: int | None,
    messages_per_worker: int | None,
    idle_seconds: int | None,
) -> Call[NewConsumer]:
    body = given(
        type=type,
        function=function,
        url=url,
        service_id=None if service is None else service_id(service, "service_id"),
        batch_size=batch_size,
        max_concurrency=max_concurrency,
        min=min,
        max=max,
        messages_per_worker=messages_per_worker,
        idle_seconds=idle_seconds,
    )
    return Call("POST", _consumer(mount, queue), _with_its_secret, body=body, idempotency_key=unique())


def get_consumer(mount: str, queue: QueueRef) -> Call[Consumer]:
    return Call("GET", _consumer(mount, queue), answer_as(Consumer))


def update_consumer(
    mount: str,
    queue: QueueRef,
    batch_size: int | None,
    max_concurrency: int | None,
    min: int | None,
    max: int | None,
    messages_per_worker: int | None,
    idle_seconds: int | None,
    paused: bool | None,
) -> Call[Consumer]:
    body = given(
        batch_size=batch_size,
        max_concurrency=max_concurrency,
        min=min,
        max=max,
        messages_per_worker=messages_per_worker,
        idle_seconds=idle_seconds,
        paused=paused,
    )
    return Call("PATCH", _consumer(mount, queue), answer_as(Consumer), body=body)


def remove_consumer(mount: str, queue: QueueRef) -> Call[None]:
    return Call("DELETE", _consumer(mount, queue), nothing, done_when_absent=True)


def _consumer(mount: str, queue: QueueRef) -> str:
    return f"{queue_path(mount, queue)}/consumer"


def _with_its_secret(content: bytes) -> NewConsumer:
    """The new consumer. Raises SecretLostError for a repeated answer, which has a webhook's secret no more."""
    consumer = read(NewConsumer, content)
    if consumer.type == "webhook" and consumer.secret is None:
        raise SecretLostError(
            "The webhook was set, but the answer that showed its secret was lost, and no other will.",
            hint="Remove the consumer and set it again.",
        )
    return consumer
