"""What runs in AWS for a tenant beside the queues: the role that the tenant's tasks take on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from tenancy import policy
from tenancy.aws import QUEUE_ARN_PREFIX, STAGE, TASK_BOUNDARY, client, error_code, reaching_aws
from tenancy.names import queue_prefix

if TYPE_CHECKING:
    from mypy_boto3_iam import IAMClient

_iam: "IAMClient" = client("iam")
_, _PARTITION, _, _REGION, _ACCOUNT = QUEUE_ARN_PREFIX.split(":")
_PATH = f"/naive/{STAGE}/"
_POLICY = "queues"


def task_role(company: str, user: str) -> str:
    """Make the role of the user's tasks, or complete one that was half made; the answer is its ARN.

    It may use the user's queues with any SQS client, and nothing else whatever policies it is given.
    """
    name = _name(user)
    with _already("EntityAlreadyExists"):
        _iam.create_role(
            Path=_PATH,
            RoleName=name,
            AssumeRolePolicyDocument=policy.task_trust(_ACCOUNT, f"arn:{_PARTITION}:ecs:{_REGION}:{_ACCOUNT}:*"),
            PermissionsBoundary=TASK_BOUNDARY,
            Tags=[
                {"Key": "stage", "Value": STAGE},
                {"Key": "company", "Value": company},
                {"Key": "user", "Value": user},
            ],
        )
    with reaching_aws():
        queues = f"{QUEUE_ARN_PREFIX}:{queue_prefix(STAGE, user)}*"
        _iam.put_role_policy(RoleName=name, PolicyName=_POLICY, PolicyDocument=policy.task_policy(queues))
    return f"arn:{_PARTITION}:iam::{_ACCOUNT}:role{_PATH}{name}"


def remove_task_role(user: str) -> None:
    """Remove the role of the user's tasks, or what is left of it; most users have none."""
    name = _name(user)
    with _already("NoSuchEntity"):
        _iam.delete_role_policy(RoleName=name, PolicyName=_POLICY)
    with _already("NoSuchEntity"):
        _iam.delete_role(RoleName=name)


def _name(user: str) -> str:
    return f"task-{user}"


@contextmanager
def _already(code: str) -> Iterator[None]:
    """Call IAM, to which a fault of this code means that all is as it should be."""
    try:
        with reaching_aws():
            yield
    except ClientError as fault:
        if error_code(fault) != code:
            raise
