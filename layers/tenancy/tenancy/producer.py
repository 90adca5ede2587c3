"""Sending: one message, or many of which each succeeds or fails alone."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from tenancy import batches, limits, registry, wakes
from tenancy.auth import CACHE_SECONDS
from tenancy.aws import reaching_aws, sqs
from tenancy.drafts import NewMessage, SentMessage
from tenancy.errors import Failed, InvalidInput, QueueError, Unavailable
from tenancy.messages import LARGE_BYTES, MAX_BYTES
from tenancy.models import parse
from tenancy.registry import Queue

_ROUNDING_SECONDS = 1
"""By how much a poll may outlast its grant: SQS waits whole seconds."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message as SendMessage takes it, with its size in bytes as SQS counts."""

    arguments: dict[str, Any]
    size: int

    @property
    def group(self) -> str | None:
        return self.arguments.get("MessageGroupId")


def send(queue: Queue, message: NewMessage, key_id: str, deadline: float) -> SentMessage:
    """Put one message on the queue. Raises InvalidInput, PayloadTooLarge, NotFound, RateLimited."""
    message.fit(queue)
    _announce_large(queue, message.size, key_id, deadline)
    arguments = message.to_sqs(queue)
    with reaching_aws():
        sent = _sent(sqs.send_message(QueueUrl=queue.url, **arguments))
    wakes.wake(queue, _delay(queue, arguments))
    return sent


def send_batch(queue: Queue, entries: Sequence[object], key_id: str, deadline: float) -> list[SentMessage | Failed]:
    """Put messages on the queue; each answer stands where its entry stood.

    Raises Unavailable when SQS takes none of them, RateLimited.
    """
    results: dict[int, SentMessage | Failed] = {}
    valid: dict[int, Outgoing] = {}
    for index, entry in enumerate(entries):
        try:
            message = parse(NewMessage, entry)
            message.fit(queue)
            valid[index] = Outgoing(message.to_sqs(queue), message.size)
        except QueueError as refusal:
            results[index] = _failed(refusal)
    results |= dict(zip(valid, put(queue, list(valid.values()), deadline, key_id), strict=True))
    return [results[index] for index in range(len(entries))]


def put(
    queue: Queue, messages: Sequence[Outgoing], deadline: float, key_id: str | None = None
) -> list[SentMessage | Failed]:
    """Put valid messages on the queue, on fifo each group in order up to its first failure.

    Raises Unavailable when SQS takes none of them, and RateLimited when the key whose messages they are has too many
    calls waiting; what is not reached before the deadline is unavailable.
    """
    _announce_large(queue, max((message.size for message in messages), default=0), key_id, deadline)
    results: list[SentMessage | Failed] = [_failed(Unavailable("not sent, since an earlier one failed"))] * len(
        messages
    )
    blocked: set[str | None] = set()

    def do(batch: Sequence[int]) -> None:
        sendable = [index for index in batch if not (queue.fifo and messages[index].group in blocked)]
        for index, result in _send(queue, messages, sendable) if sendable else []:
            results[index] = result
            if "error" in result:
                blocked.add(messages[index].group)

    batches.attempt(_batches(queue, messages), do, deadline)
    sent = [message for message, result in zip(messages, results, strict=True) if "error" not in result]
    if sent:
        # Whoever looks at the queue then sees that others are delayed for longer.
        wakes.wake(queue, min(_delay(queue, message.arguments) for message in sent))
    return results


def _announce_large(queue: Queue, size: int, key_id: str | None, deadline: float) -> None:
    """See to it that no receive takes ten of them at once, which would outgrow its answer.

    The first large message of a queue waits until every receive that goes by an older grant is told.
    """
    if size <= LARGE_BYTES:
        return
    since = queue.large_since or registry.mark_large(queue)
    seconds = since + CACHE_SECONDS + _ROUNDING_SECONDS - time.time()
    if seconds > 0:
        with nullcontext() if key_id is None else limits.waiting(key_id, math.ceil(seconds), deadline):
            time.sleep(seconds)


def _batches(queue: Queue, messages: Sequence[Outgoing]) -> Iterator[list[int]]:
    """The messages' positions, in the fewest calls that SQS takes.

    On fifo no two of a group share a call: SQS may fail the first and take the second, which would change their order.
    """
    waiting = list(range(len(messages)))
    while waiting:
        batch: list[int] = []
        groups: set[str | None] = set()
        size = 0
        for index in waiting:
            message = messages[index]
            fits = len(batch) < batches.SIZE and size + message.size <= MAX_BYTES
            if fits and not (queue.fifo and message.group in groups):
                batch.append(index)
                size += message.size
            groups.add(message.group)
        yield batch
        waiting = [index for index in waiting if index not in batch]


def _send(queue: Queue, messages: Sequence[Outgoing], batch: Sequence[int]) -> list[tuple[int, SentMessage | Failed]]:
    entries: Any = [{"Id": str(index), **messages[index].arguments} for index in batch]
    with reaching_aws():
        answer = sqs.send_message_batch(QueueUrl=queue.url, Entries=entries)
    sent = [(int(done["Id"]), _sent(done)) for done in answer.get("Successful", [])]
    refused = [(int(failure["Id"]), _refused(failure["SenderFault"])) for failure in answer.get("Failed", [])]
    return [*sent, *refused]


def _delay(queue: Queue, arguments: dict[str, Any]) -> int:
    """For how many seconds nobody receives the message; SQS delays fifo queues as a whole."""
    seconds: int = arguments.get("DelaySeconds", queue.delay_seconds)
    return seconds


def _sent(answer: Any) -> SentMessage:
    sent = SentMessage(message_id=answer["MessageId"])
    if "SequenceNumber" in answer:
        sent["sequence_number"] = answer["SequenceNumber"]
    return sent


def _refused(by_rule: bool) -> Failed:
    return _failed(
        InvalidInput("SQS refuses this message") if by_rule else Unavailable("SQS did not take this message")
    )


def _failed(refusal: QueueError) -> Failed:
    return {"error": refusal.to_entry()}
