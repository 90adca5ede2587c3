"""The policy of a queue: which roles may touch its data. It holds even where our own code is wrong."""

import json
from collections.abc import Sequence

_DATA_ACTIONS = [
    "sqs:SendMessage",
    "sqs:ReceiveMessage",
    "sqs:DeleteMessage",
    "sqs:ChangeMessageVisibility",
    "sqs:PurgeQueue",
]
"""Never sqs:*, or whoever deploys could not repair a wrong policy."""


def queue_policy(queue_arn: str, principals: Sequence[str], *, require_tls: bool) -> str:
    """The policy document that denies the data of the queue to everybody but the roles like `principals`."""
    statements = [
        _deny("OnlyItsTenant", queue_arn, {"ArnNotLike": {"aws:PrincipalArn": list(principals)}}),
    ]
    if require_tls:
        statements.append(_deny("OnlyOverTls", queue_arn, {"Bool": {"aws:SecureTransport": "false"}}))
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def _deny(sid: str, queue_arn: str, condition: dict[str, object]) -> dict[str, object]:
    return {
        "Sid": sid,
        "Effect": "Deny",
        "Principal": "*",
        "Action": _DATA_ACTIONS,
        "Resource": queue_arn,
        "Condition": condition,
    }
