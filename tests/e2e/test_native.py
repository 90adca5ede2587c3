"""Queues past our API, with an SQS client: what a tenant's task role may do, and that no other role of the account may.

Here IAM's own checks decide: the emulator enforces identity policies, permissions boundaries and queue policies.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tenancy import receipts
from tenancy.names import queue_names
from tests.e2e.conftest import Api, unique
from tests.e2e.deployed import assumed, environment, operator, output
from tests.template import ROOT

EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}
EVERYTHING_IN_SQS = {"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}


@dataclass(frozen=True)
class Owned:
    """A queue, whose it is, and its name in SQS."""

    api: Api
    user: str
    id: str
    sqs_name: str

    @property
    def path(self) -> str:
        return f"/v1/users/{self.user}/queue/{self.id}"

    @property
    def url(self) -> str:
        return str(operator("sqs").get_queue_url(QueueName=self.sqs_name)["QueueUrl"])

    def send(self, body: str, **fields: Any) -> None:
        answer = self.api("POST", f"{self.path}/messages", {"body": body, **fields})
        assert answer.status_code == 201, answer.text

    def receive(self) -> list[Any]:
        answer = self.api("GET", f"{self.path}/messages", max=10, wait=2)
        assert answer.status_code == 200, answer.text
        messages: list[Any] = answer.json()["messages"]
        return messages

    def leased(self) -> str:
        """SQS's own handle of a message that its owner has leased, as if it had leaked."""
        (message,) = self.receive()
        return receipts.read(message["receipt_handle"], self.id).handle

    def messages(self) -> tuple[int, int]:
        """How many messages are ready and how many are leased."""
        counts = self.api("GET", f"{self.path}/attributes").json()
        return counts["depth"], counts["in_flight"]


# What a worker does, each with the queue's URL and a receipt handle. Everything else is for our functions alone.
WORK: dict[str, Callable[[Any, Owned, str], Any]] = {
    "GetQueueUrl": lambda sqs, queue, _: sqs.get_queue_url(QueueName=queue.sqs_name),
    "GetQueueAttributes": lambda sqs, queue, _: sqs.get_queue_attributes(QueueUrl=queue.url, AttributeNames=["All"]),
    "SendMessage": lambda sqs, queue, _: sqs.send_message(QueueUrl=queue.url, MessageBody="x"),
    "ReceiveMessage": lambda sqs, queue, _: sqs.receive_message(QueueUrl=queue.url),
    "ChangeMessageVisibility": lambda sqs, queue, handle: sqs.change_message_visibility(
        QueueUrl=queue.url, ReceiptHandle=handle, VisibilityTimeout=0
    ),
    "DeleteMessage": lambda sqs, queue, handle: sqs.delete_message(QueueUrl=queue.url, ReceiptHandle=handle),
}
PURGE: dict[str, Callable[[Any, Owned, str], Any]] = {
    "PurgeQueue": lambda sqs, queue, _: sqs.purge_queue(QueueUrl=queue.url),
}
DATA = {name: call for name, call in {**WORK, **PURGE}.items() if not name.startswith("GetQueue")}
"""What a queue's own policy keeps for its tenant."""
OTHERS: dict[str, Callable[[Any, Owned, str], Any]] = {
    **PURGE,
    "SetQueueAttributes": lambda sqs, queue, _: sqs.set_queue_attributes(QueueUrl=queue.url, Attributes={"Policy": ""}),
    "TagQueue": lambda sqs, queue, _: sqs.tag_queue(QueueUrl=queue.url, Tags={"user": "another"}),
    "DeleteQueue": lambda sqs, queue, _: sqs.delete_queue(QueueUrl=queue.url),
    "CreateQueue": lambda sqs, queue, _: sqs.create_queue(QueueName=f"{queue.sqs_name}-2"),
    "ListQueues": lambda sqs, queue, _: sqs.list_queues(),
}


@pytest.fixture(scope="module")
def user(api: Api) -> str:
    return new_user(api)


@pytest.fixture(scope="module")
def task(api: Api, user: str) -> Iterator[str]:
    """The ARN of the user's task role, which a test may take on."""
    role = roles("task_role", "acme", user)
    try:
        # On AWS only ECS may take it on.
        operator("iam").update_assume_role_policy(RoleName=name_of(role), PolicyDocument=document(trust("*")))
        yield role
    finally:
        roles("remove_task_role", user)


@pytest.fixture(scope="module")
def queue(api: Api, user: str) -> Owned:
    return owned(api, user)


@pytest.fixture(params=["another user's", "another company's"])
def foreign(request: pytest.FixtureRequest, api: Api, stranger: Api) -> Owned:
    """A queue of somebody else, with a message in it."""
    others = api if request.param == "another user's" else stranger
    queue = owned(others, new_user(others))
    queue.send("theirs")
    return queue


@pytest.mark.parametrize("settings, extra", [({}, {}), ({"type": "fifo"}, {"MessageGroupId": "g"})])
def test_a_task_works_with_its_tenants_queues_as_the_api_does(
    api: Api, user: str, task: str, settings: Any, extra: Any
) -> None:
    queue = owned(api, user, **settings)
    sqs = assumed(task)
    url = sqs.get_queue_url(QueueName=queue.sqs_name)["QueueUrl"]
    assert sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]["VisibilityTimeout"] == "30"

    queue.send("from the API", **({"group_id": "g"} if settings else {}), attributes={"k": "é"})
    (message,) = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"], WaitTimeSeconds=2)["Messages"]
    assert (message["Body"], message["MessageAttributes"]["k"]["StringValue"]) == ("from the API", "é")
    handle = message["ReceiptHandle"]
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=60)
    sqs.delete_message(QueueUrl=url, ReceiptHandle=handle)
    assert queue.receive() == []

    sqs.send_message(QueueUrl=url, MessageBody="from a task", **extra)
    assert [message["body"] for message in queue.receive()] == ["from a task"]


def test_a_task_has_no_access_to_a_queue_of(foreign: Owned, task: str) -> None:
    sqs, handle = assumed(task), foreign.leased()
    for call in WORK.values():
        with denied():
            call(sqs, foreign, handle)
    assert foreign.messages() == (0, 1)


def test_a_task_has_no_access_to_a_queue_that_is_none_of_ours(task: str, outside: Owned) -> None:
    for call in WORK.values():
        with denied():
            call(assumed(task), outside, "x")


@pytest.mark.parametrize("call", OTHERS)
def test_a_task_does_nothing_with_its_queues_but_work(task: str, queue: Owned, call: str) -> None:
    with denied():
        OTHERS[call](assumed(task), queue, "")


def test_a_task_with_every_right_has_no_access_to_the_data_of(foreign: Owned, task: str) -> None:
    """The queue's own policy keeps it out, where the task's role and its boundary would not."""
    handle = foreign.leased()
    with rights(task, EVERYTHING):
        sqs = assumed(task)
        for call in DATA.values():
            with denied():
                call(sqs, foreign, handle)
        assert sqs.get_queue_url(QueueName=foreign.sqs_name)["QueueUrl"] == foreign.url
    assert foreign.messages() == (0, 1)


def test_a_task_with_every_right_can_do_no_more_than_its_boundary_says(task: str, queue: Owned, outside: Owned) -> None:
    with rights(task, EVERYTHING):
        sqs = assumed(task)
        for call in OTHERS:
            with denied():
                OTHERS[call](sqs, queue, "")
        for call in WORK:
            with denied():
                WORK[call](sqs, outside, "x")
        iam = assumed(task, "iam")
        with denied():
            iam.create_role(RoleName=unique(), AssumeRolePolicyDocument=document(trust("*")))
        with denied():
            iam.delete_role_permissions_boundary(RoleName=name_of(task))
        with denied():
            assumed(task, "dynamodb").scan(TableName=output("RegistryTableName"))


def test_nobody_but_ecs_takes_a_task_role_on(api: Api, stranger: Api) -> None:
    user = new_user(stranger)
    role = roles("task_role", "acme", user)
    try:
        with denied():
            operator("sts").assume_role(RoleArn=role, RoleSessionName="test")
        with other_role({"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "*"}) as arn, denied():
            assumed(arn, "sts").assume_role(RoleArn=role, RoleSessionName="test")
    finally:
        roles("remove_task_role", user)


def test_a_task_role_is_made_and_removed_as_often_as_asked(stranger: Api) -> None:
    user = new_user(stranger)
    made = {roles("task_role", "acme", user) for _ in range(2)}
    assert len(made) == 1
    for _ in range(2):
        roles("remove_task_role", user)
    with pytest.raises(operator("iam").exceptions.NoSuchEntityException):
        operator("iam").get_role(RoleName=name_of(made.pop()))


def test_no_other_role_of_the_account_has_access_to_the_data_of(foreign: Owned) -> None:
    handle = foreign.leased()
    with other_role(EVERYTHING_IN_SQS) as role:
        for call in DATA.values():
            with denied():
                call(assumed(role), foreign, handle)
    assert foreign.messages() == (0, 1)


def test_whoever_deploys_can_repair_a_policy_that_shuts_everybody_out(api: Api, user: str, task: str) -> None:
    queue = owned(api, user)
    with other_role(EVERYTHING_IN_SQS) as role:
        deployer, url = assumed(role), queue.url
        right = deployer.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])["Attributes"]["Policy"]
        assert '"Deny"' in right
        wrong = right.replace("task-", "misspelt-").replace("naive-local-", "misspelt-").replace("platform", "misspelt")
        deployer.set_queue_attributes(QueueUrl=url, Attributes={"Policy": wrong})
        assert api("POST", f"{queue.path}/messages", {"body": "x"}).status_code == 500
        with denied():
            assumed(task).send_message(QueueUrl=url, MessageBody="x")
        with denied():
            deployer.send_message(QueueUrl=url, MessageBody="x")
        deployer.set_queue_attributes(QueueUrl=url, Attributes={"Policy": right})
    queue.send("from the API")
    assumed(task).send_message(QueueUrl=url, MessageBody="from a task")
    assert queue.messages() == (2, 0)


@pytest.fixture
def outside(api: Api) -> Iterator[Owned]:
    """A queue that something else in the same account has."""
    name = unique()
    url = operator("sqs").create_queue(QueueName=name)["QueueUrl"]
    yield Owned(api, "", "", name)
    operator("sqs").delete_queue(QueueUrl=url)


@contextmanager
def denied() -> Iterator[None]:
    with pytest.raises(ClientError) as refused:
        yield
    assert refused.value.response["Error"]["Code"] in ("AccessDenied", "AccessDeniedException")


@contextmanager
def other_role(right: dict[str, Any]) -> Iterator[str]:
    """A role of the same account with this right, which is none of ours."""
    iam, name = operator("iam"), unique()
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=document(trust("*")))["Role"]["Arn"]
    try:
        with rights(role, right):
            yield role
    finally:
        iam.delete_role(RoleName=name)


@contextmanager
def rights(role: str, *statements: dict[str, Any]) -> Iterator[None]:
    """Gives a role these rights besides its own."""
    iam, which = operator("iam"), {"RoleName": name_of(role), "PolicyName": "besides"}
    iam.put_role_policy(**which, PolicyDocument=document(*statements))
    try:
        yield
    finally:
        iam.delete_role_policy(**which)


def roles(function: str, *arguments: str) -> str:
    """What a function of tenancy.roles answers whoever deployed, with the variables that the stack gives functions."""
    name = "naive-local-create_queue"
    variables = operator("lambda").get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    script = "import sys; from tenancy import roles; print(getattr(roles, sys.argv[1])(*sys.argv[2:]))"
    done = subprocess.run(
        [sys.executable, "-c", script, function, *arguments],
        env=variables
        | {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": environment("AWS_ENDPOINT_URL"),
            "PYTHONPATH": str(ROOT / "layers" / "tenancy"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def owned(api: Api, user: str, **settings: Any) -> Owned:
    """A new queue of a user."""
    made = api("POST", f"/v1/users/{user}/queue", {"name": unique(), **settings})
    assert made.status_code == 201, made.text
    name, _ = queue_names("local", user, made.json()["id"], fifo=settings.get("type") == "fifo")
    return Owned(api, user, made.json()["id"], name)


def new_user(api: Api) -> str:
    made = api("POST", "/v1/users", {})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def name_of(role: str) -> str:
    return role.rpartition("/")[2]


def trust(principal: str) -> dict[str, Any]:
    return {"Effect": "Allow", "Principal": {"AWS": principal}, "Action": "sts:AssumeRole"}


def document(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})
