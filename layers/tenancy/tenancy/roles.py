"""The role in AWS that the tasks of a tenant take on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from tenancy import policy, tasks
from tenancy.aws import (
    ACCOUNT,
    ECS_CLUSTER,
    PARTITION,
    QUEUE_ARN_PREFIX,
    REGION,
    STAGE,
    TASK_BOUNDARY,
    client,
    error_code,
    reaching_aws,
)
from tenancy.names import queue_prefix

if TYPE_CHECKING:
    from mypy_boto3_iam import IAMClient

_iam: "IAMClient" = client("iam")
_POLICY = "work"


def task_role(company: str, user: str) -> str:
    """Make the role of the user's tasks, or complete one that was half made; the answer is its ARN.

    It may use the user's queues with any SQS client and protect the user's tasks, and do nothing else whatever policies
    it is given.
    """
    name = tasks.role_name(user)
    with _already("EntityAlreadyExists"):
        _iam.create_role(
            Path=tasks.ROLE_PATH,
            RoleName=name,
            AssumeRolePolicyDocument=policy.task_trust(ACCOUNT, f"arn:{PARTITION}:ecs:{REGION}:{ACCOUNT}:*"),
            PermissionsBoundary=TASK_BOUNDARY,
            Tags=[
                {"Key": "stage", "Value": STAGE},
                {"Key": "company", "Value": company},
                {"Key": "user", "Value": user},
            ],
        )
    with reaching_aws():
        queues = f"{QUEUE_ARN_PREFIX}:{queue_prefix(STAGE, user)}*"
        own = f"arn:{PARTITION}:ecs:{REGION}:{ACCOUNT}:task/{ECS_CLUSTER}/*"
        _iam.put_role_policy(RoleName=name, PolicyName=_POLICY, PolicyDocument=policy.task_policy(queues, own, user))
    return tasks.role_arn(user)


def remove_task_role(user: str) -> None:
    """Remove the role of the user's tasks, or what is left of it; most users have none."""
    name = tasks.role_name(user)
    with _already("NoSuchEntity"):
        _iam.delete_role_policy(RoleName=name, PolicyName=_POLICY)
    with _already("NoSuchEntity"):
        _iam.delete_role(RoleName=name)


@contextmanager
def _already(code: str) -> Iterator[None]:
    """Call IAM, to which a fault of this code means that all is as it should be."""
    try:
        with reaching_aws():
            yield
    except ClientError as fault:
        if error_code(fault) != code:
            raise
