"""Event source mappings: what lets Lambda read a queue for a function. The queue's policy admits the function first.

A mapping is changed by AWS in its own time, and until then it takes no other change.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from botocore.exceptions import ClientError

from tenancy import lambdas, queues
from tenancy.aws import error_code, reaching_aws
from tenancy.errors import Conflict
from tenancy.lambdas import functions
from tenancy.registry import Queue

type Consumer = Mapping[str, Any]
"""What is wanted: batch_size, max_concurrency and paused."""
type Noted = Mapping[str, Any]
"""What AWS may have: a mapping to this function, with this uuid if it is known, and this role in the queue's policy."""


class Busy(Exception):
    """AWS is still at an earlier change; the reconciler tries again."""


class Gone(Exception):
    """AWS does not know the function, or the mapping."""


def make(queue: Queue, noted: Noted, consumer: Consumer) -> str:
    """Admit the function to the queue, then have Lambda read it; the answer is the mapping's uuid.

    Raises Busy, InvalidInput when the function is gone, Conflict when Lambda does not take it.
    """
    ours = noted["role"] is None
    if not ours:
        queues.admit(queue, noted["role"])
    try:
        with _asking():
            made = functions.create_event_source_mapping(
                EventSourceArn=queues.arn(queue),
                FunctionName=noted["function"],
                FunctionResponseTypes=["ReportBatchItemFailures"],
                **_settings(consumer),
            )
    except Gone as gone:
        if ours:
            raise
        raise lambdas.refused() from gone
    return made["UUID"]


def change(queue: Queue, noted: Noted, consumer: Consumer) -> str:
    """Let the mapping of this uuid be as it is wanted; the same uuid. Raises Busy, also when it is gone."""
    uuid: str = noted["uuid"]
    try:
        with _asking():
            functions.update_event_source_mapping(UUID=uuid, **_settings(consumer))
    except Gone as gone:
        raise Busy from gone
    return uuid


def settle(queue: Queue, noted: Noted, consumer: Consumer) -> str:
    """Have the mapping that is wanted, whatever there is; its uuid. Raises what making and changing one does."""
    found = next(iter(_found(queue, noted)), None)
    if found is None:
        return make(queue, noted, consumer)
    if found["State"] not in ("Enabled", "Disabled"):
        raise Busy
    if _settings(consumer) != _settings_of(found):
        change(queue, {"uuid": found["UUID"]}, consumer)
    return str(found["UUID"])


def delete(queue: Queue, noted: Noted) -> None:
    """Have Lambda delete the mapping. Raises Busy."""
    known = [] if noted["uuid"] is None else [noted["uuid"]]
    # Also what was made by somebody who died before it was noted.
    for uuid in {*known, *(found["UUID"] for found in _found(queue, noted))}:
        with suppress(Gone), _asking():
            functions.delete_event_source_mapping(UUID=uuid)


def undo(queue: Queue, noted: Noted) -> None:
    """Delete the mapping, and when it is gone, which may take a while, let the policy admit the function no more.

    Raises Busy until then.
    """
    delete(queue, noted)
    if _found(queue, noted):
        raise Busy
    if noted["role"] is not None:
        queues.admit(queue)


def _settings(consumer: Consumer) -> Any:
    return {
        "Enabled": not consumer["paused"],
        "BatchSize": consumer["batch_size"],
        "ScalingConfig": {"MaximumConcurrency": consumer["max_concurrency"]},
    }


def _settings_of(found: Any) -> Any:
    return {
        "Enabled": found["State"] == "Enabled",
        "BatchSize": found["BatchSize"],
        "ScalingConfig": found.get("ScalingConfig"),
    }


def _found(queue: Queue, noted: Noted) -> list[Any]:
    """The mapping as AWS has it, which is one at most. Others of the queue are not ours."""
    with _asking():
        # Lambda would not list those of a function that is gone by its name.
        answer = functions.list_event_source_mappings(EventSourceArn=queues.arn(queue))
    function = ["function", noted["function"]]
    return [found for found in answer["EventSourceMappings"] if found["FunctionArn"].split(":")[5:7] == function]


@contextmanager
def _asking() -> Iterator[None]:
    """Turn Lambda's faults into ours."""
    try:
        with reaching_aws():
            yield
    except ClientError as fault:
        match error_code(fault):
            case "ResourceInUseException" | "ResourceConflictException":
                raise Busy from fault
            case "ResourceNotFoundException":
                raise Gone from fault
            case "InvalidParameterValueException":
                raise _refused() from fault
        raise


def _refused() -> Conflict:
    return Conflict(
        "Lambda does not take this function for this queue",
        hint=(
            "Ask whoever operates the service: the function's role needs sqs:ReceiveMessage, sqs:DeleteMessage and "
            "sqs:GetQueueAttributes on the service's queues. Once it has them, try again after a minute."
        ),
        reason="function_refused",
    )
