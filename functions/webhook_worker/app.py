"""Fed with a queue's messages by its mapping: deliver each to the webhook of the queue; what fails comes back later."""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tenancy import registry, table, webhooks
from tenancy.aws import POLL_SECONDS, client, reaching_aws
from tenancy.errors import NotFound
from tenancy.names import queue_id_of
from tenancy.telemetry import count, flush, log_unhandled, logger, note, unrequested
from tenancy.webhooks import Record, Target

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_ALLOW_LOOPBACK = os.environ["WEBHOOK_ALLOW_LOOPBACK"] == "true"
_LAST_SECONDS = POLL_SECONDS + 1
"""What is kept of the function's time to give messages back and to answer."""

# Tried once: a second try might take the time to answer for what was delivered.
_sqs: "SQSClient" = client("sqs", attempts=1)


@dataclass(frozen=True, slots=True)
class Failure:
    """A message that was not delivered, and for how long it stays hidden."""

    record: Record
    seconds: int
    tried: bool = True


@unrequested
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    deadline = time.monotonic() + context.get_remaining_time_in_millis() / 1000 - _LAST_SECONDS
    records: list[Record] = event["Records"]
    target = _target(records[0]["eventSourceARN"])
    lanes = _lanes(records, fifo=target.fifo)
    with ThreadPoolExecutor(len(lanes)) as threads:
        failed = threads.map(lambda lane: _run(lane, target, deadline), lanes)
        failures = [failure for lane in failed for failure in lane]
    if failures:
        _give_back(target, failures)
    note(queue_id=target.queue_id)
    count("Deliveries", len(records) - len(failures))
    count("DeliveryFailures", sum(failure.tried for failure in failures))
    flush()
    return {"batchItemFailures": [{"itemIdentifier": failure.record["messageId"]} for failure in failures]}


def _target(queue_arn: str) -> Target:
    """The webhook of a queue. Raises NotFound when the queue has none any more."""
    queue_id = queue_id_of(queue_arn)
    queue_key, secret_key = registry.queue_key(queue_id), ("SECRET#" + queue_id, "SECRET")
    items = table.read([queue_key, secret_key])
    if len(items) < 2:
        raise NotFound("the queue has no webhook")
    queue, secret = items[queue_key], items[secret_key]
    return Target(queue["consumer"]["url"], secret["secret"], queue_id, queue["url"], queue["type"] == "fifo")


def _lanes(records: Sequence[Record], *, fifo: bool) -> list[list[Record]]:
    """What may be delivered at the same time, each in order: every message, on fifo every group."""
    if not fifo:
        return [[record] for record in records]
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record["attributes"]["MessageGroupId"], []).append(record)
    return list(groups.values())


def _run(lane: Sequence[Record], target: Target, deadline: float) -> list[Failure]:
    """Deliver one message after the other; with one that fails, or when time is up, all that follow come back too."""
    for position, record in enumerate(lane):
        if position and time.monotonic() + webhooks.SECONDS > deadline:
            return [Failure(left, 0, tried=False) for left in lane[position:]]
        outcome = webhooks.deliver(target, record, allow_loopback=_ALLOW_LOOPBACK, deadline=deadline)
        if not outcome.delivered:
            receive_count = int(record["attributes"]["ApproximateReceiveCount"])
            seconds = webhooks.seconds_to_next_try(outcome, receive_count)
            facts = {"receive_count": receive_count, "outcome": outcome.what, "next_try_seconds": seconds}
            logger.warning("undelivered", extra={**_named(target, record), **facts})
            return [Failure(record, seconds), *(Failure(left, seconds, tried=False) for left in lane[position + 1 :])]
    return []


def _give_back(target: Target, failures: Sequence[Failure]) -> None:
    """Hide what failed for its time. What cannot be changed comes back when its lease ends."""
    entries: Any = [
        {"Id": str(n), "ReceiptHandle": failure.record["receiptHandle"], "VisibilityTimeout": failure.seconds}
        for n, failure in enumerate(failures)
    ]
    try:
        with reaching_aws():
            answer = _sqs.change_message_visibility_batch(QueueUrl=target.queue_url, Entries=entries)
    except Exception as fault:
        log_unhandled(fault)  # And no more: what was delivered has to be answered for.
        return
    for refused in answer.get("Failed", []):
        record = failures[int(refused["Id"])].record
        logger.warning("not hidden", extra={**_named(target, record), "outcome": refused["Code"]})


def _named(target: Target, record: Record) -> dict[str, str]:
    return {"queue_id": target.queue_id, "message_id": record["messageId"]}
