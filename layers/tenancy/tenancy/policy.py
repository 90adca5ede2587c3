"""Policy documents: which roles may touch a queue's data, and what a tenant's tasks may do.

They hold even where our own code is wrong.
"""

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

_WORKER_ACTIONS = [
    "sqs:SendMessage",
    "sqs:ReceiveMessage",
    "sqs:DeleteMessage",
    "sqs:ChangeMessageVisibility",
    "sqs:GetQueueUrl",
    "sqs:GetQueueAttributes",
]
"""What a worker needs of its queues. The template's TaskBoundary allows the same and no more."""

_OWN_TASK_ACTIONS = ["ecs:GetTaskProtection", "ecs:UpdateTaskProtection"]
"""What keeps a worker that holds messages from being scaled in: it asks ECS for that itself."""


def queue_policy(queue_arn: str, principals: Sequence[str], *, require_tls: bool) -> str:
    """The policy document that denies the data of the queue to everybody but the roles like `principals`."""
    statements = [
        _deny("OnlyItsTenant", queue_arn, {"ArnNotLike": {"aws:PrincipalArn": list(principals)}}),
    ]
    if require_tls:
        statements.append(_deny("OnlyOverTls", queue_arn, {"Bool": {"aws:SecureTransport": "false"}}))
    return _document(*statements)


def admitted(role: str, *, by_session: bool) -> list[str]:
    """The principals that a queue's policy names to admit a role, by its ARN; `by_session` its sessions' too."""
    _, partition, _, _, account, name = role.split(":", 5)
    sessions = f"arn:{partition}:sts::{account}:assumed-role/{name.rpartition('/')[2]}/*"
    return [role, sessions] if by_session else [role]


def task_policy(queue_arns: str, task_arns: str, user: str) -> str:
    """The policy document of a user's task role: what a worker does with the queues and the tasks that are the user's.

    Queues are told by what their ARNs are like; of the tasks, which are all users', by the tag that ECS gives them.
    """
    return _document(
        {"Effect": "Allow", "Action": _WORKER_ACTIONS, "Resource": queue_arns},
        {
            "Effect": "Allow",
            "Action": _OWN_TASK_ACTIONS,
            "Resource": task_arns,
            "Condition": {"StringEquals": {"aws:ResourceTag/user": user}},
        },
    )


def task_trust(account: str, source_arns: str) -> str:
    """The document that lets ECS take a role on, for what is like `source_arns` in this account and nobody else's."""
    return _document(
        {
            "Effect": "Allow",
            "Principal": {"Service": "ecs-tasks.amazonaws.com"},
            "Action": "sts:AssumeRole",
            "Condition": {
                "StringEquals": {"aws:SourceAccount": account},
                "ArnLike": {"aws:SourceArn": source_arns},
            },
        }
    )


def _document(*statements: dict[str, object]) -> str:
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
