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


def test_other_rights_get_nothing() -> None:
    statement = {"Effect": "Allow", "Action": ["sqs:PurgeQueue", "dynamodb:PutItem"], "Resource": "arn:q"}
    assert emulator_forms({"Statement": [statement]}) == []
