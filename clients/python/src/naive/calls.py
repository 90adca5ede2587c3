"""Each operation of the API as a value: what to send, how to read the answer, what a retry risks.

Nothing here does I/O, so a blocking and an asynchronous client can share it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from naive import models
from naive.answers import AnswerModel, read
from naive.constants import MAX_WAIT
from naive.errors import InvalidInputError
from naive.models import ExtendEntry, NewMessage, Queue, QueueType, RetryEntry
from naive.retries import Repeatable

Result = TypeVar("Result")
QueueRef = str | Queue


@dataclass(frozen=True)
class Call(Generic[Result]):
    """One request, ready to be sent."""

    method: str
    path: str
    read: Callable[[bytes], Result]
    repeatable: Repeatable = Repeatable.ALWAYS
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    idempotency_key: str | None = None
    wait: int = 0
    """Seconds the server may take its time on purpose."""
    done_when_absent: bool = False
    """Whether a 404 after a failed attempt means that the attempt had worked."""

    def headers(self) -> dict[str, str]:
        """The headers that belong to this call, beside those of every call."""
        headers = {}
        if self.body is not None:
            headers["Content-Type"] = "application/json"
        if self.idempotency_key is not None:
            headers["Idempotency-Key"] = self.idempotency_key
        return headers

    def content(self) -> bytes | None:
        """The body as bytes, the same at every attempt."""
        return None if self.body is None else encode(self.body)


def mount(user_id: str | None = None) -> str:
    """The path under which a user's things are, or the company's default user's."""
    return "/v1" if user_id is None else f"/v1/users/{_segment(user_id)}"


def encode(body: object) -> bytes:
    """Compact JSON in UTF-8; text that UTF-8 cannot hold is escaped, so that the server can name what it refuses."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(body, separators=(",", ":")).encode()


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
    body = _given(
        name=name,
        type=type,
        dlq=dlq,
        max_receive_count=max_receive_count,
        visibility_timeout=visibility_timeout,
        retention_seconds=retention_seconds,
        delay_seconds=delay_seconds,
        content_based_dedup=content_based_dedup,
    )
    return Call("POST", f"{mount}/queue", _as(Queue), body=body, idempotency_key=_new_key())


def list_queues(mount: str, limit: int | None, cursor: str | None, name: str | None) -> Call[models.QueuePage]:
    query = _given(limit=limit, cursor=cursor, name=name)
    return Call("GET", f"{mount}/queue", _as(models.QueuePage), query=query)


def get_queue(mount: str, queue: QueueRef) -> Call[Queue]:
    return Call("GET", _queue(mount, queue), _as(Queue))


def update_queue(
    mount: str,
    queue: QueueRef,
    visibility_timeout: int | None,
    retention_seconds: int | None,
    delay_seconds: int | None,
    max_receive_count: int | None,
) -> Call[Queue]:
    body = _given(
        visibility_timeout=visibility_timeout,
        retention_seconds=retention_seconds,
        delay_seconds=delay_seconds,
        max_receive_count=max_receive_count,
    )
    return Call("PATCH", _queue(mount, queue), _as(Queue), body=body)


def queue_attributes(mount: str, queue: QueueRef) -> Call[models.QueueAttributes]:
    return Call("GET", f"{_queue(mount, queue)}/attributes", _as(models.QueueAttributes))


def purge_queue(mount: str, queue: QueueRef) -> Call[models.Purging]:
    return Call("POST", f"{_queue(mount, queue)}/purge", _as(models.Purging), idempotency_key=_new_key())


def destroy_queue(mount: str, queue: QueueRef) -> Call[None]:
    return Call("DELETE", _queue(mount, queue), _nothing, done_when_absent=True)


def send_message(mount: str, queue: QueueRef, message: NewMessage) -> Call[models.SentMessage]:
    body = _message(queue, message)
    path = f"{_queue(mount, queue)}/messages"
    return Call("POST", path, _as(models.SentMessage), _repeatable(queue, [body]), body=body)


def send_batch(mount: str, queue: QueueRef, messages: Iterable[NewMessage]) -> Call[models.SentBatch]:
    entries = [_message(queue, message) for message in messages]
    path = f"{_queue(mount, queue)}/messages/batch"
    return Call("POST", path, _as(models.SentBatch), _repeatable(queue, entries), body={"messages": entries})


def receive_messages(
    mount: str, queue: QueueRef, max: int | None, wait: int | None, visibility: int | None
) -> Call[models.Received]:
    query = _given(max=max, wait=wait, visibility=visibility)
    path = f"{_queue(mount, queue)}/messages"
    return Call("GET", path, _as(models.Received), Repeatable.UNLESS_RUN, query=query, wait=_patience(wait))


def ack_message(mount: str, queue: QueueRef, receipt_handle: str) -> Call[None]:
    query = {"receipt_handle": receipt_handle}
    return Call("DELETE", f"{_queue(mount, queue)}/messages", _nothing, query=query)


def extend_message(mount: str, queue: QueueRef, receipt_handle: str, visibility: int) -> Call[models.Lease]:
    body = {"receipt_handle": receipt_handle, "visibility": visibility}
    return Call("PATCH", f"{_queue(mount, queue)}/messages", _as(models.Lease), body=body)


def settle_messages(
    mount: str,
    queue: QueueRef,
    ack: Sequence[str] | None,
    retry: Sequence[RetryEntry] | None,
    extend: Sequence[ExtendEntry] | None,
) -> Call[models.Settled]:
    body = _given(ack=ack, retry=retry, extend=extend)
    return Call("POST", f"{_queue(mount, queue)}/messages/settle", _as(models.Settled), body=body)


def peek_dlq(mount: str, queue: QueueRef, max: int | None) -> Call[models.DeadLetters]:
    return Call("GET", f"{_queue(mount, queue)}/dlq/messages", _as(models.DeadLetters), query=_given(max=max))


def purge_dlq(mount: str, queue: QueueRef) -> Call[models.Purging]:
    return Call("POST", f"{_queue(mount, queue)}/dlq/purge", _as(models.Purging), idempotency_key=_new_key())


def redrive(mount: str, queue: QueueRef, max: int | None, message_ids: Sequence[str] | None) -> Call[models.Redriven]:
    body = _given(max=max, message_ids=message_ids)
    path = f"{_queue(mount, queue)}/redrive"
    return Call("POST", path, _as(models.Redriven), body=body, idempotency_key=_new_key())


def _queue(mount: str, queue: QueueRef) -> str:
    return f"{mount}/queue/{_segment(queue.id if isinstance(queue, Queue) else queue)}"


def _segment(id: str) -> str:
    if id in ("", ".", ".."):
        raise InvalidInputError(f"{id!r} is not an id.")
    try:
        return quote(id, safe="")
    except UnicodeEncodeError:
        raise InvalidInputError(f"{id!r} is not an id.") from None


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _patience(wait: int | None) -> int:
    """The seconds that a server may wait; it refuses to wait for any other number."""
    return min(max(wait or 0, 0), MAX_WAIT)


def _as(model: type[AnswerModel]) -> Callable[[bytes], AnswerModel]:
    return partial(read, model)


def _nothing(content: bytes) -> None:
    return None


def _new_key() -> str:
    return str(uuid.uuid4())


def _message(queue: QueueRef, message: NewMessage) -> dict[str, Any]:
    """The message on the wire, with a dedup id where the queue is known to need one."""
    given = _given(**message)
    if "dedup_id" not in given and _is_fifo(queue) and not _hashes_bodies(queue):
        given["dedup_id"] = _new_key()
    return given


def _repeatable(queue: QueueRef, messages: Sequence[Mapping[str, Any]]) -> Repeatable:
    """A message that the queue will recognise the second time may be sent again after any failure."""
    recognised = _is_fifo(queue) or all("dedup_id" in message for message in messages)
    return Repeatable.ALWAYS if recognised else Repeatable.UNLESS_ACCEPTED


def _is_fifo(queue: QueueRef) -> bool:
    return isinstance(queue, Queue) and queue.type == "fifo"


def _hashes_bodies(queue: QueueRef) -> bool:
    return isinstance(queue, Queue) and bool(queue.content_based_dedup)
