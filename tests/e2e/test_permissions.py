"""Every right of every function's role is needed, for its own operation and for no other.

The roles are changed on the running stack: the emulator decides each call by what they say at that moment.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from local import permissions
from tests.e2e.conftest import Api, client, unique
from tests.e2e.deployed import invoked, operator
from tests.e2e.scenarios import ASLEEP, CAME_BACK, KEPT, LEFT, REFUSED, SCENARIOS, Failed, Steps, abandon_services
from tests.template import functions

type Document = dict[str, Any]
NOTHING: Document = {"Version": "2012-10-17", "Statement": []}
TOGETHER = [
    {"delete_user", "destroy_user"},
    {
        "change_message_visibility",
        "depth_alarm",
        "redrive_dlq",
        "send_message",
        "send_message_batch",
        "settle_messages",
    },
]
"""Functions of which one starts the other; sends also wait for seconds, before a queue's first large message."""

RIGHTS = {"Policies", "Role"}
"""By one of these a function has rights: the policies of its role, or a role with policies of its own."""

WORKS = "works"
# The emulator lets everybody change and delete mappings, AWS does not.
DELETING_A_MAPPING = {"lambda:DeleteEventSourceMapping *": WORKS, "lambda:ListEventSourceMappings *": LEFT}


def fed_by(queues: str) -> dict[str, str]:
    """What Lambda does in a function's name to feed it, which the emulator does in nobody's."""
    return {f"sqs:{verb} {queues}": WORKS for verb in ("DeleteMessage", "GetQueueAttributes", "ReceiveMessage")}


# Asked while some workers have nothing to do for a minute, which is seen without a stack.
SPARING = {"ecs:ListTasks *": WORKS, "ecs:GetTaskProtection task/naive-local/*": WORKS}
DETACHING = {
    "cloudwatch:DeleteAlarms nv-local-*": LEFT,
    "ecs:UpdateService service/naive-local/nv-local-*": LEFT,
    "sqs:SendMessage TickQueue": LEFT,
}
TICKS = "sqs:SendMessage TickQueue"

UNSEEN = {
    "send_message": {TICKS: ASLEEP},
    "send_message_batch": {TICKS: ASLEEP},
    "change_message_visibility": {TICKS: ASLEEP},
    "settle_messages": {TICKS: ASLEEP},
    "depth_alarm": fed_by("TickQueue") | SPARING,
    "start_compute": {TICKS: LEFT, "sqs:GetQueueAttributes nv-local-*": LEFT},
    "stop_compute": {TICKS: LEFT, "sqs:GetQueueAttributes nv-local-*": LEFT},
    "create_queue": {
        # The emulator lets whoever makes a queue tag it, AWS does not; that it is tagged is seen without a stack.
        "sqs:TagQueue nv-local-*": WORKS,
    },
    "create_compute": dict.fromkeys(
        (
            # The emulator lets whoever makes a role or a service tag it, and give a role on, AWS does not.
            "iam:TagRole role/naive/local/task-*",
            "iam:PassRole role/naive/local/task-*",
            "iam:PassRole role/naive/local/TaskExecutionRole",
            "ecs:TagResource task-definition/nv-local-*",
            "ecs:TagResource service/naive-local/nv-local-*",
            # What is made is removed when it cannot be finished, which is seen without a stack.
            "dynamodb:DeleteItem table/Usage",
            "ecs:DeleteService service/naive-local/nv-local-*",
            "ecs:DeleteTaskDefinitions task-definition/nv-local-*",
            "ecs:DeregisterTaskDefinition *",
            "ssm:DeleteParameter parameter/naive/local/services/*/key",
        ),
        WORKS,
    ),
    "delete_compute": dict.fromkeys(
        (
            "dynamodb:DeleteItem table/Usage",
            "ecs:DeleteService service/naive-local/nv-local-*",
            "ecs:DeleteTaskDefinitions task-definition/nv-local-*",
            "ecs:DeregisterTaskDefinition *",
            "ssm:DeleteParameter parameter/naive/local/services/*/key",
            "cloudwatch:DeleteAlarms nv-local-*",
            TICKS,
        ),
        LEFT,
    ),
    "create_consumer": {
        "dynamodb:DeleteItem table/Registry": WORKS,  # for what could not be made after all
        "iam:PassRole role/naive/local/task-*": WORKS,
        "iam:PassRole role/naive/local/TaskExecutionRole": WORKS,
        "ecs:TagResource task-definition/nv-local-*": WORKS,
    },
    "update_consumer": {
        "lambda:UpdateEventSourceMapping *": WORKS,
        "ecs:UpdateService service/naive-local/nv-local-*": LEFT,
        "sqs:GetQueueAttributes nv-local-*": LEFT,
        TICKS: LEFT,
    },
    "delete_consumer": {**DELETING_A_MAPPING, **DETACHING, "sqs:SetQueueAttributes nv-local-*": LEFT},
    "delete_queue": {"sqs:DeleteQueue nv-local-*": LEFT, **DELETING_A_MAPPING, **DETACHING},
    "destroy_user": DELETING_A_MAPPING,
    "webhook_worker": {"sqs:ChangeMessageVisibility nv-local-*": CAME_BACK, **fed_by("nv-local-*")},
    "consumer_example": fed_by("nv-local-*") | fed_by("ConsumerExampleQueue"),
    "delete_user": {"lambda:InvokeFunction naive-local-destroy_user": LEFT},
    "receive_messages": {"sqs:ChangeMessageVisibility nv-local-*": KEPT},
    "redrive_dlq": {"sqs:ChangeMessageVisibility nv-local-*-dlq*": KEPT, TICKS: ASLEEP},
    "reconcile": dict.fromkeys(
        (
            "dynamodb:DeleteItem table/Registry",
            "dynamodb:Query table/Registry",
            "dynamodb:UpdateItem table/Registry",
            "dynamodb:DeleteItem table/Usage",
            "ecs:DeleteService service/naive-local/nv-local-*",
            "ecs:DeleteTaskDefinitions task-definition/nv-local-*",
            "ecs:DeregisterTaskDefinition *",
            "ecs:RegisterTaskDefinition task-definition/nv-local-*",
            "ecs:UpdateService service/naive-local/nv-local-*",
            "cloudwatch:DeleteAlarms nv-local-*",
            "cloudwatch:PutMetricAlarm nv-local-*",
            "sqs:GetQueueAttributes nv-local-*",
            TICKS,
            "ssm:DeleteParameter parameter/naive/local/services/*/key",
            "iam:DeleteRole role/naive/local/task-*",
            "iam:DeleteRolePolicy role/naive/local/task-*",
            "lambda:CreateEventSourceMapping *",
            "sqs:DeleteQueue nv-local-*",
            "sqs:GetQueueUrl nv-local-*",
            "sqs:SetQueueAttributes nv-local-*",
        ),
        LEFT,
    )
    | DELETING_A_MAPPING
    | {"lambda:UpdateEventSourceMapping *": WORKS}
    | dict.fromkeys(
        (
            "iam:PassRole role/naive/local/task-*",
            "iam:PassRole role/naive/local/TaskExecutionRole",
            "ecs:TagResource task-definition/nv-local-*",
        ),
        WORKS,
    ),
}
"""What is not answered with an error, since by then it is done for the caller, and how it shows instead."""
COUNTING = "dynamodb:UpdateItem table/Usage"
UNSEEN_OF_ALL = {
    COUNTING: "did not count the request",
    "dynamodb:UpdateItem table/Idempotency": "409 request_in_progress",  # Not the request, but a repeat of it.
}


@pytest.fixture(autouse=True)
def tidied_up() -> Iterator[None]:
    yield
    abandon_services()


def test_every_function_has_a_scenario() -> None:
    assert {role.function for role in roles()} == SCENARIOS.keys()


def test_an_operation_needs_no_rights_but_its_own() -> None:
    """Those of all other functions are taken away: so taking any of them away makes no other operation fail."""
    outcomes: dict[str, str] = {}
    with ready(roles()) as cases, ThreadPoolExecutor() as pool:
        try:
            for role in roles():
                give(role, NOTHING)
            for group in groups(cases):
                for case in group:
                    give(case.role, case.role.document)
                outcomes |= {
                    case.role.function: came for case, came in zip(group, pool.map(outcome, group), strict=True)
                }
                for case in group:
                    give(case.role, NOTHING)
        finally:
            for role in roles():
                give(role, role.document)
    assert outcomes == dict.fromkeys(outcomes, WORKS)


@pytest.mark.parametrize("logical", [name for name, function in functions().items() if RIGHTS & function.keys()])
def test_an_operation_needs_each_of_its_rights(logical: str) -> None:
    role = role_of(logical, functions()[logical])
    less = reduced(role.document)
    outcomes: dict[str, str] = {}
    with ready([role] * len(less)) as cases:
        try:
            for (right, rest), case in zip(less.items(), cases, strict=True):
                give(role, rest)
                outcomes[right] = outcome(case)
        finally:
            give(role, role.document)
    unseen = UNSEEN_OF_ALL | UNSEEN.get(role.function, {})
    assert outcomes == {right: unseen.get(right, REFUSED) for right in less}


@dataclass(frozen=True)
class Role:
    """A function's role, and its policy as it was deployed."""

    function: str
    name: str
    policy: str
    document: Document


@cache
def roles() -> list[Role]:
    """The roles of all functions of the template."""
    return [role_of(logical, function) for logical, function in functions().items()]


def role_of(logical: str, function: dict[str, Any]) -> Role:
    name, policy = resources()[f"{logical}Role"], f"{logical}RolePolicy0"
    own = set(operator("iam").list_role_policies(RoleName=name)["PolicyNames"]) - {permissions.POLICY}
    assert own == ({policy} if RIGHTS & function.keys() else set())
    document = operator("iam").get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"] if own else NOTHING
    return Role(function["CodeUri"].removeprefix("functions/"), name, policy, document)


def reduced(document: Document) -> dict[str, Document]:
    """Each right of a policy, with what is left without it."""
    less = {}
    for index, statement in enumerate(document["Statement"]):
        actions = [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]
        for action in actions:
            others = [other for other in actions if other != action]
            rest = [{**statement, "Action": others}] if others else []
            statements = document["Statement"][:index] + rest + document["Statement"][index + 1 :]
            resource = re.sub(r"naive-local-(\w+)-[0-9A-F]+", r"\1", statement["Resource"].rpartition(":")[2])
            less[f"{action} {resource}"] = {**document, "Statement": statements}
    return less


def give(role: Role, document: Document) -> None:
    """Lets a function's role have these rights and no others."""
    forms = {**document, "Statement": permissions.emulator_forms(document)}
    for name, given in ((role.policy, document), (permissions.POLICY, forms)):
        if given["Statement"]:
            operator("iam").put_role_policy(RoleName=role.name, PolicyName=name, PolicyDocument=json.dumps(given))
        else:
            with suppress(operator("iam").exceptions.NoSuchEntityException):
                operator("iam").delete_role_policy(RoleName=role.name, PolicyName=name)


@dataclass(frozen=True)
class Case:
    """An operation that is ready to be run, with a key of its own, of which no function remembers anything."""

    role: Role
    key_id: str
    steps: Steps


@contextmanager
def ready(roles: Sequence[Role]) -> Iterator[list[Case]]:
    """A case for each of the roles' functions."""
    company = unique()
    with ExitStack() as clients, ThreadPoolExecutor(4) as pool:
        first = clients.enter_context(client(invoked("bootstrap", company=company)["api_key"]))

        def prepare(role: Role) -> Case:
            api = Api(first)
            steps = SCENARIOS[role.function](api)
            key = invoked("bootstrap", company=company, new_key=True)
            api.http = clients.enter_context(client(key["api_key"]))
            return Case(role, key["key_id"], steps)

        yield list(pool.map(prepare, roles))


def groups(cases: Iterable[Case]) -> list[list[Case]]:
    """The cases that are run at the same time; most are run alone."""
    together: dict[str, list[Case]] = {}
    for case in cases:
        names = next((names for names in TOGETHER if case.role.function in names), {case.role.function})
        together.setdefault(min(names), []).append(case)
    return list(together.values())


def outcome(case: Case) -> str:
    """What came of an operation."""
    counts = COUNTING in reduced(case.role.document)
    try:
        for step in case.steps:
            step()
            if counts and "Item" not in operator("dynamodb").get_item(**counted(case.key_id)):
                return UNSEEN_OF_ALL[COUNTING]
    except Failed as failed:
        return str(failed)
    return WORKS


def counted(key_id: str) -> dict[str, Any]:
    """Where the requests of a key are counted."""
    return {"TableName": resources()["Usage"], "Key": {"id": {"S": key_id}}}


@cache
def resources() -> dict[str, str]:
    """The stack's resources: logical id to physical id."""
    pages = operator("cloudformation").get_paginator("list_stack_resources").paginate(StackName="naive-local")
    found = [resource for page in pages for resource in page["StackResourceSummaries"]]
    return {resource["LogicalResourceId"]: resource["PhysicalResourceId"] for resource in found}
