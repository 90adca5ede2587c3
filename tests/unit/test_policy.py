"""A queue's policy shuts everybody out but the roles it names, and never the one who repairs it; a task may work."""

import json

from tenancy.policy import queue_policy, task_policy, task_trust
from tests import rules
from tests.template import translated

ARN = "arn:aws:sqs:us-east-1:123456789012:nv-test-queue"


def test_only_data_actions_are_denied_and_to_all_but_the_principals() -> None:
    document = json.loads(queue_policy(ARN, ["role/a", "role/b"], require_tls=True))
    assert document["Version"] == "2012-10-17"
    tenant, tls = document["Statement"]
    for statement in (tenant, tls):
        assert (statement["Effect"], statement["Principal"], statement["Resource"]) == ("Deny", "*", ARN)
        assert not {"sqs:*", "sqs:SetQueueAttributes", "sqs:DeleteQueue"} & set(statement["Action"])
        assert "sqs:ReceiveMessage" in statement["Action"]
        assert len(statement["Action"]) <= 7  # what SQS takes in one statement
    assert tenant["Condition"] == {"ArnNotLike": {"aws:PrincipalArn": ["role/a", "role/b"]}}
    assert tls["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_plain_http_is_allowed_only_where_asked_for() -> None:
    assert len(json.loads(queue_policy(ARN, ["role/a"], require_tls=False))["Statement"]) == 1


def test_a_task_may_work_with_its_queues_and_protect_its_users_tasks_and_do_nothing_else_to_them() -> None:
    document = json.loads(task_policy(f"{ARN}-*", "task/*", "ada"))
    assert document["Version"] == "2012-10-17"
    statement, protection = document["Statement"]
    assert protection == {
        "Effect": "Allow",
        "Action": ["ecs:GetTaskProtection", "ecs:UpdateTaskProtection"],
        "Resource": "task/*",
        "Condition": {"StringEquals": {"aws:ResourceTag/user": "ada"}},
    }
    assert (statement["Effect"], statement["Resource"]) == ("Allow", f"{ARN}-*")
    assert set(statement["Action"]) == {
        "sqs:SendMessage",
        "sqs:ReceiveMessage",
        "sqs:DeleteMessage",
        "sqs:ChangeMessageVisibility",
        "sqs:GetQueueUrl",
        "sqs:GetQueueAttributes",
    }


def test_the_boundary_allows_what_a_task_may_do_on_the_stages_queues_and_tasks_and_no_more() -> None:
    boundary = rules.of_type(translated(), "AWS::IAM::ManagedPolicy")["TaskBoundary"]["PolicyDocument"]
    queues = "arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:nv-${Stage}-*"
    tasks = "arn:${AWS::Partition}:ecs:${AWS::Region}:${AWS::AccountId}:task/${EcsCluster}/*"
    of_queues, of_tasks = json.loads(task_policy("*", "*", "ada"))["Statement"]
    of_the_stage = {"StringEquals": {"aws:ResourceTag/stage": {"Ref": "Stage"}}}
    assert boundary["Statement"] == [
        {**of_queues, "Resource": {"Fn::Sub": queues}},
        {**of_tasks, "Resource": {"Fn::Sub": tasks}, "Condition": of_the_stage},
    ]
    for function in rules.functions(translated()).values():
        assert function["Environment"]["Variables"]["TASK_BOUNDARY"] == {"Ref": "TaskBoundary"}


def test_ecs_alone_takes_a_role_on_and_for_this_account_alone() -> None:
    document = json.loads(task_trust("123456789012", "arn:aws:ecs:us-east-1:123456789012:*"))
    assert document["Statement"] == [
        {
            "Effect": "Allow",
            "Principal": {"Service": "ecs-tasks.amazonaws.com"},
            "Action": "sts:AssumeRole",
            "Condition": {
                "StringEquals": {"aws:SourceAccount": "123456789012"},
                "ArnLike": {"aws:SourceArn": "arn:aws:ecs:us-east-1:123456789012:*"},
            },
        }
    ]
