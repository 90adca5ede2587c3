"""Dead letters: looked at without being taken, and moved back without one being lost."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from tenancy import batches
from tenancy.aws import CALL_SECONDS, POLL_SECONDS, reaching_aws, sqs
from tenancy.leases import give_back, poll
from tenancy.messages import SeenMessage, fitting, seen
from tenancy.producer import Outgoing, put
from tenancy.queues import counts_of, dlq_url
from tenancy.registry import Queue

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import MessageTypeDef

_POLL = 1
"""Seconds; a poll that waits asks every server of SQS, one that does not may miss messages."""

_LEASE = 30
"""Seconds for which a redrive holds dead letters, longer than its function runs; after a crash they are back."""

_ROUND_SECONDS = _POLL + POLL_SECONDS + CALL_SECONDS
"""What must be left for another round."""


class Redriven(TypedDict):
    """What a redrive did."""

    moved: int
    remaining: int
    not_found: list[str]
    not_reached: list[str]


def peek(queue: Queue, most: int) -> list[SeenMessage]:
    """Show up to `most` dead letters, which stay where they are. Raises Conflict on a queue without a DLQ."""
    return fitting([seen(raw) for raw in poll(dlq_url(queue), most, _POLL, visibility=0)])


def redrive(queue: Queue, *, most: int, message_ids: Sequence[str] | None, deadline: float) -> Redriven:
    """Move dead letters back: up to `most`, or those of `message_ids`.

    A letter is deleted once its copy is sent, so a crash in between leaves both and never neither. Raises Conflict on a
    queue without a DLQ, and Unavailable, after which a repeat goes on with the rest.
    """
    url = dlq_url(queue)
    wanted = None if message_ids is None else set(message_ids)
    moved = 0
    held: list[MessageTypeDef] = []
    emptied = False
    while moved < most and wanted != set() and time.monotonic() + _ROUND_SECONDS < deadline:
        letters = poll(url, batches.SIZE if wanted else min(batches.SIZE, most - moved), _POLL, _LEASE)
        if not letters:
            emptied = True
            break
        chosen = [letter for letter in letters if wanted is None or letter["MessageId"] in wanted]
        done = _move(queue, url, chosen, deadline)
        moved += len(done)
        if wanted is not None:
            wanted -= done
        held += [letter for letter in letters if letter["MessageId"] not in done]
    remaining, all_seen = _remaining(url, len(held))
    give_back(url, held)
    missing = sorted(wanted or ())
    read_through = emptied and all_seen
    return {
        "moved": moved,
        "remaining": remaining,
        "not_found": missing if read_through else [],
        "not_reached": [] if read_through else missing,
    }


def _move(queue: Queue, url: str, letters: "Sequence[MessageTypeDef]", deadline: float) -> set[str]:
    """Send the letters' copies, then delete those that were sent; the answer is their ids."""
    results = put(queue, [_copy(queue, letter) for letter in letters], deadline)
    moved = [letter for letter, result in zip(letters, results, strict=True) if "error" not in result]
    entries: Any = [{"Id": str(n), "ReceiptHandle": letter["ReceiptHandle"]} for n, letter in enumerate(moved)]
    if entries:
        with reaching_aws():
            sqs.delete_message_batch(QueueUrl=url, Entries=entries)
    return {letter["MessageId"] for letter in moved}


def _copy(queue: Queue, letter: "MessageTypeDef") -> Outgoing:
    """What is sent in place of a letter: its body, attributes and group as they are, whatever their type."""
    system: Any = letter.get("Attributes", {})
    attributes: Any = letter.get("MessageAttributes", {})
    arguments: dict[str, Any] = {"MessageBody": letter["Body"]}
    if attributes:
        arguments["MessageAttributes"] = attributes
    if "MessageGroupId" in system:
        arguments["MessageGroupId"] = system["MessageGroupId"]
    if queue.fifo:
        # Its own id: not swallowed by the window of the first send, but a move repeated after a crash is.
        arguments["MessageDeduplicationId"] = letter["MessageId"]
    else:
        arguments["DelaySeconds"] = 0
    return Outgoing(arguments, len(letter["Body"].encode()) + sum(map(_attribute_size, attributes.items())))


def _attribute_size(attribute: tuple[str, Any]) -> int:
    name, value = attribute
    data = value["BinaryValue"] if "BinaryValue" in value else value["StringValue"].encode()
    return len(name) + len(value["DataType"]) + len(data)


def _remaining(url: str, held: int) -> tuple[int, bool]:
    """How many letters there are, and whether they are just those that are held."""
    ready, in_flight, delayed = counts_of(url)
    return ready + in_flight + delayed, ready == 0 and in_flight <= held
