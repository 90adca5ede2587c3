"""The rights to SQS's batch calls: on AWS a right to send, delete or change visibility holds for its batch form too.

The emulator wants the batch form by a name of its own, which no policy on AWS can give, so each role gets it here.
"""

import json
from typing import Any

from local.deploy import roles
from local.stack import Stack

POLICY = "sqs-batch-forms"

_BATCH_FORMS = {
    f"sqs:{verb}": f"sqs:{verb}Batch" for verb in ("SendMessage", "DeleteMessage", "ChangeMessageVisibility")
}


def sync(stack: Stack) -> None:
    """Lets every role of the stack do in batches what its own policies let it do singly."""
    iam = stack.client("iam")
    for role in roles(stack):
        names = iam.list_role_policies(RoleName=role)["PolicyNames"]
        own = [
            iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"] for name in names if name != POLICY
        ]
        statements = [statement for document in own for statement in batch_forms(document)]
        if statements:
            document = json.dumps({"Version": "2012-10-17", "Statement": statements})
            iam.put_role_policy(RoleName=role, PolicyName=POLICY, PolicyDocument=document)
        elif POLICY in names:
            iam.delete_role_policy(RoleName=role, PolicyName=POLICY)


def batch_forms(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The statements that give the batch forms of what the document gives, on the same resources."""
    statements = []
    for statement in document["Statement"]:
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        batch = [_BATCH_FORMS[action] for action in actions if action in _BATCH_FORMS]
        if batch:
            statements.append({**statement, "Action": batch})
    return statements
