"""A queue's policy shuts everybody out but the roles it names, and never the one who repairs it."""

import json

from tenancy.policy import queue_policy

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
