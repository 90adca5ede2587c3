"""What the tasks of a service have written, from CloudWatch Logs."""

from typing import TYPE_CHECKING, Any, TypedDict

from botocore.exceptions import ClientError

from tenancy import tokens
from tenancy.aws import client, error_code, reaching_aws
from tenancy.errors import InvalidInput
from tenancy.names import timestamp
from tenancy.registry import Service
from tenancy.tasks import LOG_GROUP

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient

_KIND = "logs"
_logs: "CloudWatchLogsClient" = client("logs")


class Line(TypedDict):
    """What a task has written in one line."""

    time: str
    message: str


class Lines(TypedDict):
    """Some lines, the oldest first; where there may be more, with the cursor to go on from."""

    lines: list[Line]
    next_cursor: str | None


def read(service: Service, *, limit: int, cursor: str | None) -> Lines:
    """Up to `limit` lines of the service's tasks, from its first one or from the cursor on. Raises InvalidInput."""
    place: Any = {"startTime": int(service.created_at * 1000)}
    if cursor is not None:
        place |= {"nextToken": _token(cursor, service)}
    # A stream is named prefix/container/task, and no id is the beginning of another.
    streams = f"{service.id}/"
    try:
        with reaching_aws():
            answer = _logs.filter_log_events(logGroupName=LOG_GROUP, logStreamNamePrefix=streams, limit=limit, **place)
    except ClientError as fault:
        # Of what we ask, the token alone may be one that is not taken any more.
        if cursor is not None and error_code(fault) == "InvalidParameterException":
            raise _bad_cursor() from fault
        raise
    more = answer.get("nextToken")
    return {
        "lines": [
            {"time": timestamp(event["timestamp"] / 1000), "message": event["message"]}
            for event in answer["events"]
            # Whatever there is in the group, nobody is shown another's: the emulators give all of it.
            if event["logStreamName"].startswith(streams)
        ],
        "next_cursor": None if more is None else tokens.seal(_KIND, more.encode(), service.id),
    }


def _token(cursor: str, service: Service) -> str:
    """CloudWatch's own token, which is good for one stream of one service."""
    token = tokens.unseal(_KIND, cursor, service.id)
    if not token:
        raise _bad_cursor()
    return token.decode("utf-8", "replace")


def _bad_cursor() -> InvalidInput:
    return InvalidInput("cursor must be the next_cursor of an answer of the last 24 hours, unchanged", field="cursor")
