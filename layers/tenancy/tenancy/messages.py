"""A message that lies in a queue: how it is shown, and how many of them fit into one answer."""

import base64
import json
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from tenancy.names import timestamp

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import MessageTypeDef

MAX_BYTES = 1024 * 1024
"""Body and attributes of a message, and all messages of one SQS batch, as SQS counts them."""

MAX_BATCH_BYTES = 2 * 1024 * 1024
"""A request that sends many messages."""

IN_FLIGHT = 120_000
"""About as many of a queue may be leased at a time, says SQS."""

DEDUP_SECONDS = 300
"""For how long SQS knows a deduplication id."""

LARGE_BYTES = 100 * 1024
"""Ten messages up to this size fit into one answer whatever their bytes are."""

ANSWER_BYTES = 6 * 1024 * 1024 - 64 * 1024
"""What Lambda lets a function answer, less the envelope. The body of an answer is in it as a string, so every quote and
backslash of a message, escaped once in our JSON, is escaped once more."""

WORST_BYTES = 4 * MAX_BYTES + 16 * 1024
"""A message of the largest size, all quotes, with its handle and other fields, in an answer."""


class SeenMessage(TypedDict):
    """A message as it lies in a queue."""

    message_id: str
    body: str
    receive_count: int
    sent_at: str
    group_id: NotRequired[str]
    dedup_id: NotRequired[str]
    sequence_number: NotRequired[str]
    attributes: NotRequired[dict[str, str]]


class ReceivedMessage(SeenMessage):
    """A message under a lease."""

    receipt_handle: str
    lease_expires_at: str


RECEIVED_ATTRIBUTES: Any = [
    "ApproximateReceiveCount",
    "MessageDeduplicationId",
    "MessageGroupId",
    "SentTimestamp",
    "SequenceNumber",
]
"""The system attributes to ask SQS for."""


def seen(raw: "MessageTypeDef") -> SeenMessage:
    """How a message from SQS is shown."""
    system: Any = raw.get("Attributes", {})
    message = SeenMessage(
        message_id=raw["MessageId"],
        body=raw["Body"],
        receive_count=int(system["ApproximateReceiveCount"]),
        sent_at=timestamp(int(system["SentTimestamp"]) / 1000),
    )
    if "MessageGroupId" in system:
        message["group_id"] = system["MessageGroupId"]
    if "MessageDeduplicationId" in system:
        message["dedup_id"] = system["MessageDeduplicationId"]
    if "SequenceNumber" in system:
        message["sequence_number"] = system["SequenceNumber"]
    if raw.get("MessageAttributes"):
        message["attributes"] = {name: _shown(value) for name, value in raw["MessageAttributes"].items()}
    return message


def _shown(value: Any) -> str:
    """An attribute as text; one that somebody sent natively may be binary."""
    return value["StringValue"] if "StringValue" in value else base64.b64encode(value["BinaryValue"]).decode()


def fitting[T: SeenMessage](messages: list[T]) -> list[T]:
    """The first messages, as many as fit into one answer; one always does."""
    if sum(map(_at_most_bytes, messages)) <= ANSWER_BYTES:
        return messages
    room = ANSWER_BYTES
    for number, message in enumerate(messages):
        room -= answered_bytes(message)
        if room < 0:
            return messages[:number]
    return messages


def answered_bytes(message: SeenMessage) -> int:
    """What a message takes in an answer of a function, where its JSON is a string in JSON."""
    return len(json.dumps(json.dumps(message, ensure_ascii=False), ensure_ascii=False).encode())


def _at_most_bytes(message: SeenMessage) -> int:
    """What a message can take, without looking at its characters: none takes more than four bytes, escaped or not."""
    attributes = message.get("attributes", {}).items()
    return 4 * (len(message["body"]) + sum(len(name) + len(value) for name, value in attributes)) + 4096
