"""One logger and one metrics object. The operation is a dimension; company and user are only ever on the line."""

import functools
import os
import traceback
from collections.abc import Callable

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from botocore.exceptions import ClientError

from tenancy.errors import QueueError

OPERATION = os.environ["AWS_LAMBDA_FUNCTION_NAME"].rpartition("-")[2]

logger = Logger(service=OPERATION)
metrics = Metrics(service=OPERATION)


def count(name: str, number: int = 1) -> None:
    """Add to a metric of this request."""
    metrics.add_metric(name, MetricUnit.Count, number)


_facts: dict[str, object] = {}


def note(**facts: object) -> None:
    """Remember what tells this request apart: searchable on each of its lines, and no new time series."""
    _facts.update(facts)


def audit(**facts: object) -> None:
    """Log a change that no request made, with the same fields as the line of one that did."""
    logger.info("changed", extra={"audit": True, "operation": OPERATION, "outcome": "done", **facts})


def unrequested[**P, T](work: Callable[P, T]) -> Callable[P, T]:
    """Make a handler of what no request asks for: of its faults the kind is logged. Lambda would log their text."""

    @functools.wraps(work)
    def handler(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return work(*args, **kwargs)
        except QueueError as refusal:
            raise refusal from None
        except Exception as fault:
            log_unhandled(fault)
            raise QueueError("something went wrong on our side; the function's log says where") from None

    return handler


def log_unhandled(fault: BaseException) -> None:
    """Log where a fault came from. Its text is left out: AWS writes ARNs into it, and libraries write input."""
    chain: list[BaseException] = [fault]
    # A cause that is raised again has the fault that it caused as its context: a circle.
    while (cause := chain[-1].__cause__ or chain[-1].__context__) and cause not in chain:
        chain.append(cause)
    frames = [line.strip() for link in reversed(chain) for line in traceback.format_tb(link.__traceback__)]
    # The request's own line is the one that tells of a change.
    facts = {name: value for name, value in _facts.items() if name != "audit"}
    logger.error("unhandled", extra={**facts, "fault": " < ".join(map(_kind, chain)), "frames": frames})


def flush() -> None:
    """Write the request's metrics line, which says all there is to say of a request that went well."""
    for name, value in _facts.items():
        metrics.add_metadata(name, value)
    metrics.flush_metrics()
    _facts.clear()


def _kind(fault: BaseException) -> str:
    if isinstance(fault, ClientError):
        return f"{fault.operation_name} {fault.response['Error']['Code']}"
    return type(fault).__name__
