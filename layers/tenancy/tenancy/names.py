"""Ids, times and the names that things have in AWS: pure functions."""

import re
import uuid
from datetime import UTC, datetime

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")

NO_ID = "-"
"""Looked up in place of a malformed id, so that refusing one costs and shows the same as refusing a foreign one."""

NAME_PATTERN = "^[A-Za-z0-9_-]{1,64}$"
"""Names that users and operators choose."""


def new_id() -> str:
    """A lowercase UUIDv4."""
    return str(uuid.uuid4())


def is_id(text: str) -> bool:
    """Whether the text has the form of our ids."""
    return _ID.fullmatch(text) is not None


def queue_prefix(stage: str, user: str) -> str:
    """What the SQS names of all queues of a user begin with, and of no other user's."""
    return f"nv-{stage}-{user.replace('-', '')[:24]}-"


def queue_names(stage: str, user: str, queue_id: str, *, fifo: bool) -> tuple[str, str]:
    """The SQS names of a queue and of its dead-letter queue, at most 80 characters.

    A name holds the queue's id, so none is ever used twice and SQS's minute of rest between a delete and a create of
    one name never applies.
    """
    stem = queue_prefix(stage, user) + queue_id.replace("-", "")
    suffix = ".fifo" if fifo else ""
    return stem + suffix, f"{stem}-dlq{suffix}"


def queue_id_of(name: str) -> str:
    """The id of the queue that has this SQS name, or an ARN that ends with it."""
    return str(uuid.UUID(name.removesuffix(".fifo").rpartition("-")[2]))


def service_name(stage: str, user: str, service_id: str) -> str:
    """What a service and its task definitions are called in ECS; a name is never used twice."""
    return queue_prefix(stage, user) + service_id.replace("-", "")


def timestamp(seconds: float) -> str:
    """Seconds since 1970 as ISO 8601 in UTC, with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
