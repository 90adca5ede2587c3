"""What is added to a role's rights so that the emulator lets it use SQS's batch calls."""

from local.permissions import batch_forms


def test_a_right_gets_its_batch_form_on_the_same_queues() -> None:
    statement = {"Effect": "Allow", "Action": ["sqs:ReceiveMessage", "sqs:DeleteMessage"], "Resource": "arn:q"}
    assert batch_forms({"Statement": [statement]}) == [
        {"Effect": "Allow", "Action": ["sqs:DeleteMessageBatch"], "Resource": "arn:q"}
    ]


def test_a_single_action_is_seen_too() -> None:
    statement = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "arn:q"}
    assert batch_forms({"Statement": [statement]}) == [{**statement, "Action": ["sqs:SendMessageBatch"]}]


def test_other_rights_get_nothing() -> None:
    statement = {"Effect": "Allow", "Action": ["sqs:PurgeQueue", "dynamodb:PutItem"], "Resource": "arn:q"}
    assert batch_forms({"Statement": [statement]}) == []
