"""What is added to a role's rights so that the emulator lets it do what AWS would."""

from local.permissions import emulator_forms


def test_a_right_gets_its_batch_form_on_the_same_queues() -> None:
    statement = {"Effect": "Allow", "Action": ["sqs:ReceiveMessage", "sqs:DeleteMessage"], "Resource": "arn:q"}
    assert emulator_forms({"Statement": [statement]}) == [
        {"Effect": "Allow", "Action": ["sqs:DeleteMessageBatch"], "Resource": "arn:q"}
    ]


def test_a_single_action_is_seen_too() -> None:
    statement = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "arn:q"}
    assert emulator_forms({"Statement": [statement]}) == [{**statement, "Action": ["sqs:SendMessageBatch"]}]


def test_a_right_to_roles_holds_for_their_names_without_the_path() -> None:
    statement = {"Effect": "Allow", "Action": ["iam:DeleteRole"], "Resource": "arn:aws:iam::1:role/naive/local/task-*"}
    assert emulator_forms({"Statement": [statement]}) == [{**statement, "Resource": "arn:aws:iam::1:role/task-*"}]


def test_a_right_to_services_holds_for_their_cluster_and_one_to_task_definitions_for_all() -> None:
    service = {
        "Effect": "Allow",
        "Action": "ecs:UpdateService",
        "Resource": "arn:aws:ecs:x:1:service/workers/nv-local-*",
    }
    task = {
        "Effect": "Allow",
        "Action": ["ecs:RegisterTaskDefinition"],
        "Resource": "arn:aws:ecs:x:1:task-definition/nv-*",
    }
    assert emulator_forms({"Statement": [service, task]}) == [
        {**service, "Resource": "arn:aws:ecs:x:1:cluster/workers"},
        {**task, "Resource": "*"},
    ]


def test_a_right_to_a_log_group_holds_for_the_group_itself() -> None:
    statement = {"Effect": "Allow", "Action": "logs:FilterLogEvents", "Resource": "arn:aws:logs:x:1:log-group:/a/b:*"}
    assert emulator_forms({"Statement": [statement]}) == [{**statement, "Resource": "arn:aws:logs:x:1:log-group:/a/b"}]


def test_a_condition_that_the_emulator_cannot_judge_is_left_out_and_no_other() -> None:
    bounded = {"Effect": "Allow", "Action": "iam:CreateRole", "Resource": "arn:aws:iam::1:role/task-*"}
    condition = {"StringEquals": {"iam:PermissionsBoundary": "arn:aws:iam::1:policy/boundary"}}
    passed = {**bounded, "Condition": {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}}
    assert emulator_forms({"Statement": [{**bounded, "Condition": condition}, passed]}) == [bounded]


def test_other_rights_get_nothing() -> None:
    statement = {"Effect": "Allow", "Action": ["sqs:PurgeQueue", "dynamodb:PutItem"], "Resource": "arn:q"}
    assert emulator_forms({"Statement": [statement]}) == []
