"""Leases: receive messages, acknowledge them, hold them longer, give them back."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from botocore.exceptions import ClientError

from tenancy import batches, receipts
from tenancy.aws import POLL_SECONDS, error_code, reaching_aws, sqs, sqs_polling
from tenancy.errors import Conflict, EntryError, QueueError, ReceiptExpired, ReceiptInvalid, Unavailable
from tenancy.messages import (
    ANSWER_BYTES,
    RECEIVED_ATTRIBUTES,
    WORST_BYTES,
    ReceivedMessage,
    answered_bytes,
    fitting,
    seen,
)
from tenancy.names import timestamp
from tenancy.receipts import Receipt
from tenancy.registry import Queue

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import MessageTypeDef

_LOST = ("ReceiptHandleIsInvalid", "MessageNotInflight", "InvalidParameterValue")
"""What SQS says of a handle whose lease is over or whose message is gone. Ours are checked before: never 'garbled'."""


class Received(TypedDict):
    """The answer to a receive."""

    messages: list[ReceivedMessage]


class Extended(TypedDict):
    """When a changed lease ends."""

    lease_expires_at: str


class Settled(TypedDict):
    """What became of one entry of a settle."""

    ok: NotRequired[bool]
    lease_expires_at: NotRequired[str]
    error: NotRequired[EntryError]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A valid entry of a settle and where its answer belongs."""

    index: int
    receipt: Receipt
    visibility: int


def receive(queue: Queue, *, most: int, wait: int, visibility: int | None, deadline: float) -> list[ReceivedMessage]:
    """Lease up to `most` messages, waiting up to `wait` seconds for the first.

    Raises Conflict when SQS has as many in flight as it allows, NotFound.
    """
    visibility = queue.visibility_timeout if visibility is None else visibility
    # What authorising took is not waited again: the gateway's clock runs.
    wait = max(0, min(wait, int(deadline - time.monotonic() - POLL_SECONDS)))
    if not queue.large:
        return _keep_what_fits(queue, _receive(queue, most, wait, visibility))
    messages: list[ReceivedMessage] = []
    room = ANSWER_BYTES
    while len(messages) < most and room >= WORST_BYTES and (not messages or time.monotonic() + POLL_SECONDS < deadline):
        one = _receive(queue, 1, 0 if messages else wait, visibility)
        if not one:
            break
        messages += one
        room -= answered_bytes(one[0])
    return messages


def acknowledge(queue: Queue, handle: str) -> None:
    """Delete a leased message. Raises ReceiptInvalid, and on fifo ReceiptExpired."""
    receipt = receipts.read(handle, queue.id)
    try:
        with reaching_aws():
            sqs.delete_message(QueueUrl=queue.url, ReceiptHandle=receipt.handle)
    except ClientError as fault:
        if error_code(fault) not in _LOST:
            raise
        if not _is_gone(queue, receipt, error_code(fault)):
            raise _expired() from fault


def change_visibility(queue: Queue, handle: str, visibility: int) -> Extended:
    """Let the lease end so many seconds from now, 0 gives the message back. Raises ReceiptInvalid, ReceiptExpired."""
    receipt = receipts.read(handle, queue.id)
    now = time.time()
    visibility = receipt.cut(visibility, now)
    try:
        with reaching_aws():
            sqs.change_message_visibility(
                QueueUrl=queue.url, ReceiptHandle=receipt.handle, VisibilityTimeout=visibility
            )
    except ClientError as fault:
        if error_code(fault) not in _LOST:
            raise
        raise _expired() from fault
    return {"lease_expires_at": timestamp(now + visibility)}


def settle(
    queue: Queue,
    *,
    ack: Sequence[str] = (),
    retry: Sequence[tuple[str, int]] = (),
    extend: Sequence[tuple[str, int]] = (),
    deadline: float = math.inf,
) -> dict[str, list[Settled]]:
    """Acknowledge, give back and extend many leases (handles, with seconds); each succeeds or fails alone.

    Raises Unavailable when SQS takes none of them; what is not reached before the deadline is unavailable.
    """
    answer: dict[str, list[Settled]] = {}
    work: list[tuple[str, Sequence[_Entry]]] = []
    for verb, asked in (("ack", [(handle, 0) for handle in ack]), ("retry", retry), ("extend", extend)):
        answer[verb] = [_failed(Unavailable("not reached, since an earlier one failed"))] * len(asked)
        entries = []
        for index, (handle, visibility) in enumerate(asked):
            try:
                entries.append(_Entry(index, receipts.read(handle, queue.id), visibility))
            except ReceiptInvalid as refusal:
                answer[verb][index] = _failed(refusal)
        work += [(verb, batch) for batch in batches.tens(entries)]

    def do(step: tuple[str, Sequence[_Entry]]) -> None:
        verb, batch = step
        outcome = _acknowledge(queue, batch) if verb == "ack" else _change(queue, batch, show=verb == "extend")
        for entry, settled in zip(batch, outcome, strict=True):
            answer[verb][entry.index] = settled

    batches.attempt(work, do, deadline)
    return answer


def _receive(queue: Queue, most: int, wait: int, visibility: int) -> list[ReceivedMessage]:
    try:
        with reaching_aws():
            answer = sqs_polling(wait).receive_message(
                QueueUrl=queue.url,
                MaxNumberOfMessages=most,
                WaitTimeSeconds=wait,
                VisibilityTimeout=visibility,
                MessageSystemAttributeNames=RECEIVED_ATTRIBUTES,
                MessageAttributeNames=["All"],
            )
    except ClientError as fault:
        if error_code(fault) == "OverLimit":
            raise Conflict(
                "the queue has as many messages in flight as SQS allows",
                hint="Acknowledge or give back some of them first.",
                reason="in_flight_limit",
            ) from fault
        raise
    now = time.time()
    return [_leased(queue, raw, now, visibility) for raw in answer.get("Messages", [])]


def _leased(queue: Queue, raw: "MessageTypeDef", now: float, visibility: int) -> ReceivedMessage:
    receipt = Receipt(raw["ReceiptHandle"], int(now), visibility)
    return {
        **seen(raw),
        "receipt_handle": receipts.issue(receipt, queue.id),
        "lease_expires_at": timestamp(now + visibility),
    }


def _keep_what_fits(queue: Queue, messages: list[ReceivedMessage]) -> list[ReceivedMessage]:
    """The messages that fit into one answer; the others are given back at once.

    Only what somebody sent past us, or in the seconds around a queue's first large message, can outgrow it.
    """
    kept = fitting(messages)
    if len(kept) < len(messages):
        settle(queue, retry=[(extra["receipt_handle"], 0) for extra in messages[len(kept) :]])
    return kept


def _acknowledge(queue: Queue, batch: Sequence[_Entry]) -> list[Settled]:
    entries: Any = [{"Id": str(entry.index), "ReceiptHandle": entry.receipt.handle} for entry in batch]
    with reaching_aws():
        failures = _failures(sqs.delete_message_batch(QueueUrl=queue.url, Entries=entries))
    return [
        {"ok": True}
        if (code := failures.get(str(entry.index))) is None or _is_gone(queue, entry.receipt, code)
        else _failed(_refusal(code))
        for entry in batch
    ]


def _change(queue: Queue, batch: Sequence[_Entry], *, show: bool) -> list[Settled]:
    now = time.time()
    seconds = {entry.index: entry.receipt.cut(entry.visibility, now) for entry in batch}
    entries: Any = [
        {
            "Id": str(entry.index),
            "ReceiptHandle": entry.receipt.handle,
            "VisibilityTimeout": seconds[entry.index],
        }
        for entry in batch
    ]
    with reaching_aws():
        failures = _failures(sqs.change_message_visibility_batch(QueueUrl=queue.url, Entries=entries))
    return [
        _failed(_refusal(failures[str(entry.index)]))
        if str(entry.index) in failures
        else {"ok": True, "lease_expires_at": timestamp(now + seconds[entry.index])}
        if show
        else {"ok": True}
        for entry in batch
    ]


def _failures(answer: Any) -> dict[str, str]:
    return {failure["Id"]: failure["Code"].rpartition(".")[2] for failure in answer.get("Failed", [])}


def _refusal(code: str) -> QueueError:
    return _expired() if code in _LOST else Unavailable("SQS did not take this entry")


def _is_gone(queue: Queue, receipt: Receipt, code: str) -> bool:
    """Whether SQS's refusal of a delete means that the message was deleted already, as was asked.

    On standard a late delete is as good as an early one. On fifo one is refused once the lease is over.
    """
    return code in _LOST and (not queue.fifo or (code == "ReceiptHandleIsInvalid" and not receipt.is_over(time.time())))


def _expired() -> ReceiptExpired:
    return ReceiptExpired("the lease of this receipt_handle is over", field="receipt_handle")


def _failed(refusal: QueueError) -> Settled:
    return {"error": refusal.to_entry()}
