"""A queue in SQS: made, changed, counted, purged, and shown."""

import json
import time
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from botocore.exceptions import ClientError

from tenancy import policy, registry, reservations
from tenancy.aws import QUEUE_ARN_PREFIX, QUEUE_PRINCIPALS, STAGE, error_code, reaching_aws, sqs
from tenancy.errors import Conflict, PurgeInProgress
from tenancy.messages import MAX_BYTES
from tenancy.names import queue_names, timestamp
from tenancy.registry import PURGE_SECONDS, Queue

DLQ_RETENTION = 1_209_600


class ConsumerSummary(TypedDict):
    """What a queue says of its consumer."""

    type: Literal["function", "webhook", "service"]
    paused: bool


class QueueView(TypedDict):
    """A queue as its owner sees it."""

    id: str
    name: str
    type: Literal["standard", "fifo"]
    user_id: str
    dlq: bool
    max_receive_count: int | None
    visibility_timeout: int
    retention_seconds: int
    delay_seconds: int
    content_based_dedup: bool | None
    consumer: ConsumerSummary | None
    created_at: str


class QueueCounts(TypedDict):
    """How many messages a queue holds; SQS counts approximately."""

    depth: int
    in_flight: int
    delayed: int
    dlq_depth: int | None


class Purging(TypedDict):
    """A purge that has begun; what is sent before done_by may be taken too."""

    status: Literal["purging"]
    done_by: str


def view(queue: Queue) -> QueueView:
    """The queue as its owner sees it."""
    return {
        "id": queue.id,
        "name": queue.name,
        "type": queue.type,
        "user_id": queue.user,
        "dlq": queue.max_receive_count is not None,
        "max_receive_count": queue.max_receive_count,
        "visibility_timeout": queue.visibility_timeout,
        "retention_seconds": queue.retention_seconds,
        "delay_seconds": queue.delay_seconds,
        "content_based_dedup": queue.content_based_dedup,
        "consumer": _summary(queue.consumer),
        "created_at": timestamp(queue.created_at),
    }


def create(queue: Queue) -> None:
    """Make the queue, and its dead-letter queue first. Raises AlreadyExists and what else a name can meet."""
    reservations.reserve(queue)
    name, dlq_name = queue_names(STAGE, queue.user, queue.id, fifo=queue.fifo)
    dlq_url = None
    settings = {
        "VisibilityTimeout": str(queue.visibility_timeout),
        "MessageRetentionPeriod": str(queue.retention_seconds),
        "DelaySeconds": str(queue.delay_seconds),
    }
    if queue.max_receive_count is not None:
        allowed = {"redrivePermission": "byQueue", "sourceQueueArns": [_arn(name)]}
        dlq_settings = {"MessageRetentionPeriod": str(DLQ_RETENTION), "RedriveAllowPolicy": json.dumps(allowed)}
        dlq_url = _create(queue, dlq_name, dlq_settings)
        settings["RedrivePolicy"] = _redrive_policy(queue, queue.max_receive_count)
    url = _create(queue, name, settings)
    reservations.activate(queue, url, dlq_url)


def change(queue: Queue, settings: dict[str, int]) -> None:
    """Change settings, in SQS first: what the registry says is what SQS does or is about to do.

    Raises Conflict for a visibility timeout that is too short for the queue's consumer.
    """
    if "visibility_timeout" in settings:
        registry.require_time(queue, settings["visibility_timeout"])
    _change(queue, settings)
    try:
        registry.change_queue(queue, settings)
    except Conflict:
        _change(queue, {name: getattr(queue, name) for name in settings})
        raise


def admit(queue: Queue, role: str | None = None) -> None:
    """Let the queue's own policy admit this role to its data, besides our functions and its owner's tasks."""
    name, _ = queue_names(STAGE, queue.user, queue.id, fifo=queue.fifo)
    with reaching_aws():
        sqs.set_queue_attributes(QueueUrl=queue.url, Attributes={"Policy": _policy(queue, name, role)})


def name(queue: Queue) -> str:
    """What the queue is called in SQS."""
    name, _ = queue_names(STAGE, queue.user, queue.id, fifo=queue.fifo)
    return name


def arn(queue: Queue) -> str:
    """What AWS calls the queue."""
    return _arn(name(queue))


def counts(queue: Queue) -> QueueCounts:
    """How many messages are ready, leased, delayed and dead."""
    depth, in_flight, delayed = counts_of(queue.url)
    return {
        "depth": depth,
        "in_flight": in_flight,
        "delayed": delayed,
        "dlq_depth": None if queue.dlq_url is None else sum(counts_of(queue.dlq_url)),
    }


def counts_of(url: str) -> tuple[int, int, int]:
    """How many messages are ready, leased and delayed in an SQS queue."""
    with reaching_aws():
        answer = sqs.get_queue_attributes(
            QueueUrl=url,
            AttributeNames=[
                "ApproximateNumberOfMessages",
                "ApproximateNumberOfMessagesNotVisible",
                "ApproximateNumberOfMessagesDelayed",
            ],
        )["Attributes"]
    return (
        int(answer["ApproximateNumberOfMessages"]),
        int(answer["ApproximateNumberOfMessagesNotVisible"]),
        int(answer["ApproximateNumberOfMessagesDelayed"]),
    )


def purge(queue: Queue) -> Purging:
    """Delete every message. Raises PurgeInProgress within a minute of the last one."""
    return _purge(queue, queue.url, "purged_at")


def purge_dlq(queue: Queue) -> Purging:
    """Delete every dead letter. Raises Conflict without a dead-letter queue, PurgeInProgress."""
    return _purge(queue, dlq_url(queue), "dlq_purged_at")


def dlq_url(queue: Queue) -> str:
    """Where the dead letters are. Raises Conflict on a queue without."""
    if queue.dlq_url is None:
        raise Conflict("this queue has no dead-letter queue", hint="Create one with dlq true.", reason="no_dlq")
    return queue.dlq_url


_SQS_NAMES = {
    "visibility_timeout": "VisibilityTimeout",
    "retention_seconds": "MessageRetentionPeriod",
    "delay_seconds": "DelaySeconds",
}


def _summary(consumer: Mapping[str, Any] | None) -> ConsumerSummary | None:
    return None if consumer is None else {"type": consumer["type"], "paused": consumer["paused"]}


def _create(queue: Queue, name: str, settings: dict[str, str]) -> str:
    attributes: Any = {
        **settings,
        "MaximumMessageSize": str(MAX_BYTES),
        "SqsManagedSseEnabled": "true",
        "Policy": _policy(queue, name),
    }
    if queue.fifo:
        attributes |= {
            "FifoQueue": "true",
            "ContentBasedDeduplication": "true" if queue.content_based_dedup else "false",
            "DeduplicationScope": "messageGroup",
            "FifoThroughputLimit": "perMessageGroupId",
        }
    tags = {"stage": STAGE, "company": queue.company, "user": queue.user, "queue": queue.id, "name": queue.name}
    with reaching_aws():
        return sqs.create_queue(QueueName=name, Attributes=attributes, tags=tags)["QueueUrl"]


def _change(queue: Queue, settings: dict[str, int]) -> None:
    attributes = {_SQS_NAMES[name]: str(value) for name, value in settings.items() if name in _SQS_NAMES}
    if "max_receive_count" in settings:
        attributes["RedrivePolicy"] = _redrive_policy(queue, settings["max_receive_count"])
    with reaching_aws():
        sqs.set_queue_attributes(QueueUrl=queue.url, Attributes=attributes)  # type: ignore[arg-type]  # plain names


def _policy(queue: Queue, name: str, role: str | None = None) -> str:
    """Who is admitted to the data of the SQS queue of this name."""
    principals = [pattern.replace("{user}", queue.user) for pattern in QUEUE_PRINCIPALS]
    if role is not None:
        # The emulator shows a role as its session, as QUEUE_PRINCIPALS says.
        principals += policy.admitted(role, by_session=STAGE == "local")
    return policy.queue_policy(_arn(name), principals, require_tls=STAGE != "local")


def _arn(name: str) -> str:
    return f"{QUEUE_ARN_PREFIX}:{name}"


def _redrive_policy(queue: Queue, max_receive_count: int) -> str:
    _, dlq_name = queue_names(STAGE, queue.user, queue.id, fifo=queue.fifo)
    return json.dumps({"deadLetterTargetArn": _arn(dlq_name), "maxReceiveCount": str(max_receive_count)})


def _purge(queue: Queue, url: str, which: Literal["purged_at", "dlq_purged_at"]) -> Purging:
    started = registry.start_purge(queue, which)
    try:
        with reaching_aws():
            sqs.purge_queue(QueueUrl=url)
    except Exception as fault:
        registry.undo_purge(queue, which, started)
        if isinstance(fault, ClientError) and error_code(fault) == "PurgeQueueInProgress":
            raise PurgeInProgress("the queue is being purged already", retry_after=PURGE_SECONDS) from fault
        raise
    return {"status": "purging", "done_by": timestamp(time.time() + PURGE_SECONDS)}
