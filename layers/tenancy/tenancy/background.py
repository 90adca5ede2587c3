"""Work that goes on after the answer, in a function of its own; the reconciler does what that one leaves."""

import json
from typing import TYPE_CHECKING

from tenancy.aws import client, reaching_aws
from tenancy.telemetry import log_unhandled

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

_functions: "LambdaClient" = client("lambda")


def start(function: str, **event: str) -> None:
    """Start a function and do not wait for it."""
    try:
        with reaching_aws():
            _functions.invoke(FunctionName=function, InvocationType="Event", Payload=json.dumps(event))
    except Exception as fault:
        log_unhandled(fault)  # And no more: what is due is found by the reconciler.
