"""The calls about queues and their messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from naive import models
from naive.calls.call import Call, answer_as, given, nothing, segment, unique
from naive.calls.ids import QueueRef, handle, queue_id
from naive.constants import MAX_WAIT
from naive.models import ExtendEntry, NewMessage, Queue, QueueType, RetryEntry
from naive.retries import Repeatable


def queue_path(mount: str, queue: QueueRef) -> str:
    """The path of a queue."""
    return f"{mount}/queue/{segment(queue_id(queue))}"


def create_queue(
    mount: str,
    name: str,
    type: QueueType | None,
    dlq: bool | None,
    max_receive_count: int | None,
    visibility_timeout: int | None,
    retention_seconds: int | None,
    delay_seconds: int | None,
    content_based_dedup: bool | None,
) -> Call[Queue]:
    body = given(
        name=name,
        type=type,
        dlq=dlq,
        max_receive_count=max_receive_count,
        visibility_timeout=visibility_timeout,
        retention_seconds=retention_seconds,
        delay_seconds=delay_seconds,
        content_based_dedup=content_based_dedup,
    )
    return Call("POST", f"{mount}/queue", answer_as(Queue), body=body, idempotency_key=unique())


def list_queues(mount: str, limit: int | None, cursor: str | None, name: str | None) -> Call[models.QueuePage]:
    query = given(limit=limit, cursor=cursor, name=name)
    return Call("GET", f"{mount}/queue", answer_as(models.QueuePage), query=query)


def get_queue(mount: str, queue: QueueRef) -> Call[Queue]:
    return Call("GET", queue_path(mount, queue), answer_as(Queue))


def update_queue(
    mount: str,
    queue: QueueRef,
    visibility_timeout: int | None,
    retention_seconds: int | None,
    delay_seconds: int | None,
    max_receive_count: int | None,
) -> Call[Queue]:
    body = given(
        visibility_timeout=visibility_timeout,
        retention_seconds=retention_seconds,
        delay_seconds=delay_seconds,
        max_receive_count=max_receive_count,
    )
    return Call("PATCH", queue_path(mount, queue), answer_as(Queue), body=body)


def queue_attributes(mount: str, queue: QueueRef) -> Call[models.QueueAttributes]:
    return Call("GET", f"{queue_path(mount, queue)}/attributes", answer_as(models.QueueAttributes))


def purge_queue(mount: str, queue: QueueRef) -> Call[models.Purging]:
    return Call("POST", f"{queue_path(mount, queue)}/purge", answer_as(models.Purging), idempotency_key=unique())


def destroy_queue(mount: str, queue: QueueRef) -> Call[None]:
    return Call("DELETE", queue_path(mount, queue), nothing, done_when_absent=True)


def send_message(mount: str, queue: QueueRef, message: NewMessage) -> Call[models.SentMessage]:
    return send_entry(mount, queue, on_the_wire(queue, message))


def send_entry(mount: str, queue: QueueRef, entry: Mapping[str, Any]) -> Call[models.SentMessage]:
    """The same for a message as it is on the wire."""
    path = f"{queue_path(mount, queue)}/messages"
    return Call("POST", path, answer_as(models.SentMessage), _repeatable(queue, [entry]), body=entry)


def on_the_wire(queue: QueueRef, message: NewMessage) -> dict[str, Any]:
    """The message on the wire, with a dedup id where the queue is known to need one."""
    fields = given(**message)
    if "dedup_id" not in fields and _is_fifo(queue) and not _hashes_bodies(queue):
        fields["dedup_id"] = unique()
    return fields


def send_messages(mount: str, queue: QueueRef, entries: Sequence[Mapping[str, Any]]) -> Call[models.BatchAnswer]:
    """One request of a batch, of messages as they are on the wire."""
    path = f"{queue_path(mount, queue)}/messages/batch"
    return Call("POST", path, answer_as(models.BatchAnswer), _repeatable(queue, entries), body={"messages": entries})


def receive_messages(
    mount: str, queue: QueueRef, max: int | None, wait: int | None, visibility: int | None
) -> Call[models.Received]:
    query = given(max=max, wait=wait, visibility=visibility)
    path = f"{queue_path(mount, queue)}/messages"
    return Call("GET", path, answer_as(models.Received), Repeatable.UNLESS_RUN, query=query, wait=_patience(wait))


def ack_message(mount: str, queue: QueueRef, receipt_handle: str) -> Call[None]:
    query = {"receipt_handle": handle(receipt_handle)}
    return Call("DELETE", f"{queue_path(mount, queue)}/messages", nothing, query=query)


def extend_message(mount: str, queue: QueueRef, receipt_handle: str, visibility: int) -> Call[models.Lease]:
    body = {"receipt_handle": handle(receipt_handle), "visibility": visibility}
    return Call("PATCH", f"{queue_path(mount, queue)}/messages", answer_as(models.Lease), body=body)


def settle_messages(
    mount: str,
    queue: QueueRef,
    ack: Sequence[str] | None,
    retry: Sequence[RetryEntry] | None,
    extend: Sequence[ExtendEntry] | None,
) -> Call[models.Settled]:
    body = given(ack=ack, retry=retry, extend=extend)
    return Call("POST", f"{queue_path(mount, queue)}/messages/settle", answer_as(models.Settled), body=body)


def peek_dlq(mount: str, queue: QueueRef, max: int | None) -> Call[models.DeadLetters]:
    return Call("GET", f"{queue_path(mount, queue)}/dlq/messages", answer_as(models.DeadLetters), query=given(max=max))


def purge_dlq(mount: str, queue: QueueRef) -> Call[models.Purging]:
    return Call("POST", f"{queue_path(mount, queue)}/dlq/purge", answer_as(models.Purging), idempotency_key=unique())


def redrive(mount: str, queue: QueueRef, max: int | None, message_ids: Sequence[str] | None) -> Call[models.Redriven]:
    body = given(max=max, message_ids=message_ids)
    path = f"{queue_path(mount, queue)}/redrive"
    return Call("POST", path, answer_as(models.Redriven), body=body, idempotency_key=unique())


def _patience(wait: int | None) -> int:
    """The seconds that a server may wait; it refuses to wait for any other number."""
    return min(max(wait, 0), MAX_WAIT) if isinstance(wait, int) else 0


def _repeatable(queue: QueueRef, messages: Sequence[Mapping[str, Any]]) -> Repeatable:
    """A message that the queue will recognise the second time may be sent again after any failure."""
    recognised = _is_fifo(queue) or all("dedup_id" in message for message in messages)
    return Repeatable.ALWAYS if recognised else Repeatable.UNLESS_ACCEPTED


def _is_fifo(queue: QueueRef) -> bool:
    return isinstance(queue, Queue) and queue.type == "fifo"


def _hashes_bodies(queue: QueueRef) -> bool:
    return isinstance(queue, Queue) and bool(queue.content_based_dedup)
