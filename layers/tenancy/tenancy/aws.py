"""The AWS clients and the template's names, built once per environment; and what it means when AWS fails."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import botocore.session
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionError, HTTPClientError
from botocore.parsers import ResponseParserError

from tenancy.errors import NotFound, Unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

STAGE = os.environ["STAGE"]
REGISTRY_TABLE = os.environ["REGISTRY_TABLE"]
QUEUE_ARN_PREFIX = os.environ["QUEUE_ARN_PREFIX"]
_, PARTITION, _, REGION, ACCOUNT = QUEUE_ARN_PREFIX.split(":")
QUEUE_PRINCIPALS = os.environ["QUEUE_PRINCIPALS"].split(",")
"""ARN patterns of the roles that a queue's policy admits; {user} stands for the queue's owner."""
USAGE_TABLE = os.environ["USAGE_TABLE"]
TASK_BOUNDARY = os.environ["TASK_BOUNDARY"]
"""The ARN of the policy that bounds every tenant's task role."""
QUEUES_PER_USER = int(os.environ["QUEUES_PER_USER"])
"""Queues, dead-letter queues not counted, that one user may have."""
COMPANY_CONCURRENCY = int(os.environ["COMPANY_CONCURRENCY"])
"""What the max_concurrency of all consumers of one company may be together."""
WEBHOOK_WORKER = os.environ["WEBHOOK_WORKER"]
"""The name of our function that delivers to webhooks."""
TICK_QUEUE = os.environ["TICK_QUEUE"]
"""The URL of the queue by which those who scale services come back, and are called."""
ALARM_TOPIC = os.environ["ALARM_TOPIC"]
"""The ARN of the topic to which the depth alarms of queues tell."""
ECS_CLUSTER = os.environ["ECS_CLUSTER"]
"""The name of the cluster that services run on; empty where there is none."""
SERVICES_PER_USER = int(os.environ["SERVICES_PER_USER"])
"""Compute services that one user may have."""

_CONNECT_SECONDS = 1
_READ_SECONDS = 3
_ATTEMPTS = 2
CALL_SECONDS = 10
"""The longest that one call can take, its second attempt and the pause before it included."""
POLL_SECONDS = _CONNECT_SECONDS + _READ_SECONDS
"""What a receive can take beyond the seconds that it waits: it is tried once."""

# botocore's own session: boto3 would only add what functions do not use, and the time to import it.
_session = botocore.session.get_session()


def client(service: str, *, read_seconds: int = _READ_SECONDS, attempts: int = _ATTEMPTS) -> Any:
    """A client of an AWS service, as the functions need it; for what only few of them call, in its own module."""
    config = Config(
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=read_seconds,
        retries={"mode": "standard", "total_max_attempts": attempts},
    )
    return _session.create_client(service, config=config)


dynamodb: "DynamoDBClient" = client("dynamodb")
sqs: "SQSClient" = client("sqs")


@cache
def sqs_polling(wait: int) -> "SQSClient":
    """The SQS client for a receive that waits so many seconds: tried once, since a repeated receive leases twice."""
    polling: SQSClient = client("sqs", read_seconds=wait + _READ_SECONDS, attempts=1)
    return polling


def error_code(fault: ClientError) -> str:
    """AWS's code for a fault, without the namespace that SQS's older protocol puts before it."""
    return fault.response["Error"]["Code"].rpartition(".")[2]


@contextmanager
def reaching_aws() -> Iterator[None]:
    """Turn a service that throttles, hangs or is down into Unavailable, a vanished queue into NotFound."""
    try:
        yield
    except ClientError as fault:
        if _is_passing(fault):
            raise Unavailable("a service behind this API cannot take the request now") from fault
        if error_code(fault) in ("QueueDoesNotExist", "NonExistentQueue"):
            raise NotFound() from fault
        raise
    except (ConnectionError, HTTPClientError, ResponseParserError) as fault:
        raise Unavailable("a service behind this API did not answer in time") from fault


def _is_passing(fault: ClientError) -> bool:
    status = fault.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status >= 500 or error_code(fault) in _THROTTLED


_THROTTLED = {
    "ConcurrentModification",
    "EntityTemporarilyUnmodifiable",
    "KmsThrottled",
    "LimitExceededException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    "TooManyUpdates",
    "TransactionInProgressException",
}
