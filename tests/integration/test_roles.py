"""The role of a tenant's tasks: made once and whole, bounded, and removed without a trace."""

from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tenancy import roles
from tenancy.errors import Unavailable
from tenancy.names import new_id
from tests.integration.conftest import Calls, aws_fault

USER = "3f6f3b9e-8a53-4a39-9d0c-3f1c6f6f7a10"
NAME = f"task-{USER}"


def role(name: str = NAME) -> Any:
    return boto3.client("iam").get_role(RoleName=name)["Role"]


def policies(name: str = NAME) -> list[Any]:
    iam = boto3.client("iam")
    names = iam.list_role_policies(RoleName=name)["PolicyNames"]
    return [iam.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"] for policy in names]


def test_it_is_taken_on_by_ecs_alone_and_bounded() -> None:
    arn = roles.task_role("acme", USER)
    assert arn == f"arn:aws:iam::123456789012:role/naive/test/{NAME}"
    made = role()
    assert (made["Arn"], made["Path"]) == (arn, "/naive/test/")
    assert (
        made["PermissionsBoundary"]["PermissionsBoundaryArn"] == "arn:aws:iam::123456789012:policy/naive/test/boundary"
    )
    assert {tag["Key"]: tag["Value"] for tag in made["Tags"]} == {"stage": "test", "company": "acme", "user": USER}
    (trusted,) = made["AssumeRolePolicyDocument"]["Statement"]
    assert trusted["Principal"] == {"Service": "ecs-tasks.amazonaws.com"}
    assert trusted["Condition"] == {
        "StringEquals": {"aws:SourceAccount": "123456789012"},
        "ArnLike": {"aws:SourceArn": "arn:aws:ecs:us-east-1:123456789012:*"},
    }


def test_it_may_use_the_queues_of_its_user_and_no_others() -> None:
    other = new_id()
    roles.task_role("acme", USER)
    roles.task_role("acme", other)
    queues = []
    for name in (NAME, f"task-{other}"):
        (document,) = policies(name)
        allowed, own = document["Statement"]
        assert own["Resource"] == "arn:aws:ecs:us-east-1:123456789012:task/workers/*"
        assert own["Condition"] == {"StringEquals": {"aws:ResourceTag/user": name.removeprefix("task-")}}
        assert (document["Version"], allowed["Effect"]) == ("2012-10-17", "Allow")
        queues.append(allowed["Resource"])
    assert queues == [
        "arn:aws:sqs:us-east-1:123456789012:nv-test-3f6f3b9e8a534a399d0c3f1c-*",
        f"arn:aws:sqs:us-east-1:123456789012:nv-test-{other.replace('-', '')[:24]}-*",
    ]


def test_it_is_made_once() -> None:
    assert roles.task_role("acme", USER) == roles.task_role("acme", USER)
    assert len(policies()) == 1


def test_one_that_was_half_made_is_completed(calls: Calls) -> None:
    calls.fail("PutRolePolicy", aws_fault("ServiceFailure", 500))
    with pytest.raises(Unavailable):
        roles.task_role("acme", USER)
    assert policies() == []
    roles.task_role("acme", USER)
    assert len(policies()) == 1


@pytest.mark.parametrize("fault", [None, "PutRolePolicy"])
def test_it_is_removed_also_when_it_was_half_made(calls: Calls, fault: str | None) -> None:
    if fault:
        calls.fail(fault, aws_fault("ServiceFailure", 500))
        with pytest.raises(Unavailable):
            roles.task_role("acme", USER)
    else:
        roles.task_role("acme", USER)
    roles.remove_task_role(USER)
    with pytest.raises(ClientError, match="NoSuchEntity"):
        role()


def test_one_whose_removal_was_interrupted_is_removed_the_next_time(calls: Calls) -> None:
    roles.task_role("acme", USER)
    calls.fail("DeleteRole", aws_fault("ServiceFailure", 500))
    with pytest.raises(Unavailable):
        roles.remove_task_role(USER)
    roles.remove_task_role(USER)
    with pytest.raises(ClientError, match="NoSuchEntity"):
        role()


def test_where_there_is_none_nothing_is_removed() -> None:
    roles.task_role("acme", USER)
    roles.remove_task_role(new_id())
    assert len(policies()) == 1


@pytest.mark.parametrize("code", ["Throttling", "ConcurrentModification", "EntityTemporarilyUnmodifiable"])
def test_iam_that_cannot_take_it_now_is_unavailable(calls: Calls, code: str) -> None:
    for operation in ("CreateRole", "DeleteRolePolicy"):
        calls.fail(operation, aws_fault(code, 409))
    with pytest.raises(Unavailable):
        roles.task_role("acme", USER)
    with pytest.raises(Unavailable):
        roles.remove_task_role(USER)


def test_iam_that_refuses_is_our_fault(calls: Calls) -> None:
    calls.fail("CreateRole", aws_fault("AccessDenied", 403))
    with pytest.raises(ClientError, match="AccessDenied"):
        roles.task_role("acme", USER)
