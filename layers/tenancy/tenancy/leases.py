"""Leases: receive messages, acknowledge them, hold them longer, give them back."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from botocore.exceptions import ClientError
from cachetools import TTLCache

from tenancy import batches, limits, receipts, wakes
from tenancy.auth import Grant
from tenancy.aws import POLL_SECONDS, error_code, reaching_aws, sqs, sqs_polling
from tenancy.errors import Conflict, ReceiptExpired
from tenancy.messages import (
    ANSWER_BYTES,
    LARGE_BYTES,
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
from tenancy.telemetry import log_unhandled

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import MessageTypeDef

LOST = ("ReceiptHandleIsInvalid", "MessageNotInflight", "InvalidParameterValue")
"""What SQS says of a handle whose lease is over or whose message is gone. Ours are checked before: never 'garbled'."""

FREE_SECONDS = 1
"""So long a receive may wait without taking one of its key's places for polls that wait."""


# Queues that gave a large message although their record did not say so. One such surprise is enough.
_seen_large: TTLCache[str, bool] = TTLCache(1024, 3600)


class Received(TypedDict):
    """The answer to a receive."""

    messages: list[ReceivedMessage]


class Extended(TypedDict):
    """When a changed lease ends."""

    lease_expires_at: str


def receive(
    grant: Grant,
    renew: Callable[[], Grant],
    *,
    most: int,
    wait: int,
    visibility: int | None,
    deadline: float,
) -> list[ReceivedMessage]:
    """Lease up to `most` messages, waiting up to `wait` seconds for the first.

    Raises Conflict when SQS has as many in flight as it allows, RateLimited when too many receives of the key wait
    already, and what authorising raises.
    """
    first = min(wait, FREE_SECONDS)
    messages = _poll(grant, renew, most, first, visibility, deadline)
    wait = _in_time(wait - first, deadline)
    if messages or not wait:
        return messages
    with limits.waiting(grant.tenant.key_id, wait, deadline):
        return _poll(grant, renew, most, wait, visibility, deadline)


def acknowledge(queue: Queue, handle: str) -> None:
    """Delete a leased message. Raises ReceiptInvalid, and on fifo ReceiptExpired."""
    receipt = receipts.read(handle, queue.id)
    try:
        with reaching_aws():
            sqs.delete_message(QueueUrl=queue.url, ReceiptHandle=receipt.handle)
    except ClientError as fault:
        if error_code(fault) not in LOST:
            raise
        if not is_gone(queue, receipt, error_code(fault)):
            raise expired() from fault


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
        if error_code(fault) not in LOST:
            raise
        raise expired() from fault
    wakes.wake(queue, visibility)
    return {"lease_expires_at": timestamp(now + visibility)}


def poll(url: str, most: int, wait: int, visibility: int) -> "list[MessageTypeDef]":
    """Receive from an SQS queue, with all that we show of a message."""
    with reaching_aws():
        answer = sqs_polling(wait).receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=most,
            WaitTimeSeconds=wait,
            VisibilityTimeout=visibility,
            MessageSystemAttributeNames=RECEIVED_ATTRIBUTES,
            MessageAttributeNames=["All"],
        )
    return answer.get("Messages", [])


def give_back(url: str, messages: "Sequence[MessageTypeDef]") -> None:
    """Let others receive the messages at once. One that cannot be given back comes back when its lease ends."""
    try:
        for batch in batches.tens(messages):
            entries: Any = [
                {"Id": str(n), "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 0}
                for n, message in enumerate(batch)
            ]
            with reaching_aws():
                sqs.change_message_visibility_batch(QueueUrl=url, Entries=entries)
    except Exception as fault:
        log_unhandled(fault)  # And no more: what is kept has to be answered.


def is_gone(queue: Queue, receipt: Receipt, code: str) -> bool:
    """Whether SQS's refusal of a delete means that the message was deleted already, as was asked.

    On standard a late delete is as good as an early one. On fifo one is refused once the lease is over.
    """
    return code in LOST and (not queue.fifo or (code == "ReceiptHandleIsInvalid" and not receipt.is_over(time.time())))


def expired() -> ReceiptExpired:
    """The refusal of a handle whose lease is over."""
    return ReceiptExpired("the lease of this receipt_handle is over", field="receipt_handle")


def _poll(
    grant: Grant, renew: Callable[[], Grant], most: int, wait: int, visibility: int | None, deadline: float
) -> list[ReceivedMessage]:
    """Poll SQS again and again, until it gives something or the wait is over.

    No poll of SQS outlasts the grant that it goes by: what changes meanwhile, a revoked key or the queue's first large
    message, is seen within the same seconds as elsewhere.
    """
    while True:
        wait = _in_time(wait, deadline)
        seconds = min(wait, grant.seconds_left)
        if wait and not seconds:
            grant = renew()
            continue
        messages = _lease_granted(grant, most, seconds, visibility, deadline)
        wait -= seconds
        if messages or not wait:
            return messages
        grant = renew()


def _in_time(wait: int, deadline: float) -> int:
    """So much of a wait as is left: what authorising took is not waited again, since the gateway's clock runs."""
    return max(0, min(wait, int(deadline - time.monotonic() - POLL_SECONDS)))


def _lease_granted(
    grant: Grant, most: int, wait: int, visibility: int | None, deadline: float
) -> list[ReceivedMessage]:
    queue = grant.queue
    assert queue is not None, "the route names no queue"
    if _is_sent_home(queue, grant.tenant.key_id):
        time.sleep(wait)
        return []
    visibility = queue.visibility_timeout if visibility is None else visibility
    if queue.large_since is not None or queue.id in _seen_large:
        return _lease_large(queue, most, wait, visibility, deadline)
    return _lease(queue, most, wait, visibility)


def _is_sent_home(queue: Queue, key_id: str) -> bool:
    """Whether a worker of the queue's own service asks while its consumer is paused.

    One that always holds messages keeps its task for as long. Without new ones it ends when it is done.
    """
    consumer = queue.consumer
    return consumer is not None and consumer["paused"] and consumer.get("key_id") == key_id


def _lease(queue: Queue, most: int, wait: int, visibility: int) -> list[ReceivedMessage]:
    """Receive what fits into one answer.

    Only what somebody sent past us can outgrow it.
    """
    try:
        raw = poll(queue.url, most, wait, visibility)
    except ClientError as fault:
        if error_code(fault) == "OverLimit":
            raise Conflict(
                "the queue has as many messages in flight as SQS allows",
                hint="Acknowledge or give back some of them first.",
                reason="in_flight_limit",
            ) from fault
        raise
    now = time.time()
    if any(len(message["Body"]) > LARGE_BYTES for message in raw):
        _seen_large[queue.id] = True
    kept = fitting([_leased(queue, message, now, visibility) for message in raw])
    if len(kept) < len(raw):
        give_back(queue.url, raw[len(kept) :])
    return kept


def _lease_large(queue: Queue, most: int, wait: int, visibility: int, deadline: float) -> list[ReceivedMessage]:
    """Receive one message after the other, as long as another of the largest size fits into the answer.

    And as long as the first one's lease runs: afterwards the next receive might give it again.
    """
    messages = _lease(queue, 1, wait, visibility)
    room = ANSWER_BYTES - sum(map(answered_bytes, messages))
    until = min(deadline, time.monotonic() + visibility) - POLL_SECONDS
    while messages and len(messages) < most and room >= WORST_BYTES and time.monotonic() < until:
        try:
            more = _lease(queue, 1, 0, visibility)
        except Exception as fault:
            log_unhandled(fault)
            break  # What is leased already has to be answered.
        if not more:
            break
        messages += more
        room -= answered_bytes(more[0])
    return messages


def _leased(queue: Queue, raw: "MessageTypeDef", now: float, visibility: int) -> ReceivedMessage:
    receipt = Receipt(raw["ReceiptHandle"], int(now), visibility)
    return {
        **seen(raw),
        "receipt_handle": receipts.issue(receipt, queue.id),
        "lease_expires_at": timestamp(now + visibility),
    }
