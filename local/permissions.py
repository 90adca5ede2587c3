"""Rights under the names that the emulator has for them where AWS has others, which no policy on AWS can give.

On AWS a right to send, delete or change visibility holds for its batch form too, a role's name has its path, a service
of ECS is not its cluster, and it is known which boundary a role is to be given. Each role of the stack gets here, by a
policy of its own, what its policies give it by AWS's names.
"""

import json
import re
from typing import Any

from local.deploy import roles
from local.stack import Stack

POLICY = "emulator-forms"

_UNKNOWN_KEYS = {"ecs:cluster", "iam:PermissionsBoundary"}
"""What the emulator does not say of a request, so that no condition on it ever holds."""

_UNNAMED = {"cloudwatch:DeleteAlarms"}
"""What the emulator does not see to be asked for something by its name."""

_BATCH_FORMS = {
    f"sqs:{verb}": f"sqs:{verb}Batch" for verb in ("SendMessage", "DeleteMessage", "ChangeMessageVisibility")
}


def sync(stack: Stack) -> None:
    """Lets every role of the stack do on the emulator what its own policies let it do on AWS."""
    iam = stack.client("iam")
    for role in roles(stack):
        names = iam.list_role_policies(RoleName=role)["PolicyNames"]
        own = [
            iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"] for name in names if name != POLICY
        ]
        statements = [statement for document in own for statement in emulator_forms(document)]
        if statements:
            document = json.dumps({"Version": "2012-10-17", "Statement": statements})
            iam.put_role_policy(RoleName=role, PolicyName=POLICY, PolicyDocument=document)
        elif POLICY in names:
            iam.delete_role_policy(RoleName=role, PolicyName=POLICY)


def emulator_forms(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The statements that give on the emulator what the document gives on AWS, as far as it has other names for it."""
    statements = []
    for statement in document["Statement"]:
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        batch = [_BATCH_FORMS[action] for action in actions if action in _BATCH_FORMS]
        if batch:
            statements.append({**statement, "Action": batch})
        form = {**statement, "Resource": _emulator_name(statement["Resource"])}
        if any(_UNKNOWN_KEYS & keys.keys() for keys in statement.get("Condition", {}).values()):
            del form["Condition"]
        if unnamed := sorted(_UNNAMED.intersection(actions)):
            statements.append({**statement, "Action": unnamed, "Resource": "*"})
        if form != statement:
            statements.append(form)
    return statements


def _emulator_name(resource: str) -> str:
    """What the emulator calls what this is a name of; a task definition that is being registered has none."""
    if ":task-definition/" in resource:
        return "*"
    resource = re.sub("(:log-group:.*):\\*$", r"\1", resource)
    return re.sub(":service/(.*)/.*", r":cluster/\1", re.sub(":role/.*/", ":role/", resource))
