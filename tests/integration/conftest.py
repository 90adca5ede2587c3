"""The API in one process: requests go through the template's routes to the handlers, and from there to moto."""

import importlib
import itertools
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError
from moto import mock_aws

from tenancy import auth, fleet, leases, limits, producer
from tenancy.aws import ECS_CLUSTER
from tenancy.tasks import LOG_GROUP
from tests.integration.leftovers import operator
from tests.openapi import judge
from tests.template import ROOT, match, resource

# EC2 is there for the subnets of tasks alone; its thousand images would take a quarter of a test's time.
os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"

_EVENT = json.loads((ROOT / "events/send_message.json").read_text())
_numbers = itertools.count(1)
_caches: dict[str, Any] = {}
_accounts: dict[str, Any] = {}


@dataclass
class Context:
    """What Lambda tells a handler."""

    seconds: float = 28

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1000)


@dataclass
class Answer:
    """What a client gets."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> str:
        """The error's code."""
        code: str = self.json["error"]["code"]
        return code


@dataclass
class Api:
    """A client with a key."""

    company: str
    user: str
    key: str
    context: Context = field(default_factory=Context)

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: str | None = None,
        headers: dict[str, str] | None = None,
        **query: Any,
    ) -> Answer:
        split = urlsplit(path)
        folder, route, parameters = match(method, split.path)
        event = json.loads(json.dumps(_EVENT))
        event |= {
            "routeKey": route,
            "rawPath": split.path,
            "rawQueryString": urlencode(query),
            "headers": ({"authorization": f"Bearer {self.key}"} if self.key else {}) | (headers or {}),
            "body": raw if raw is not None else None if body is None else json.dumps(body),
        }
        event["requestContext"]["http"] |= {"method": method, "path": split.path}
        event["requestContext"]["requestId"] = f"request-{next(_numbers)}"
        event.pop("pathParameters")
        if parameters:
            event["pathParameters"] = parameters
        if query:
            event["queryStringParameters"] = {name: str(value) for name, value in query.items()}
        # Each function remembers for itself, as environments that share nothing do.
        auth._granted = _caches.setdefault(folder, type(auth._granted)(1024, auth.CACHE_SECONDS))
        limits._accounts = _accounts.setdefault(folder, type(limits._accounts)(limits._accounts.maxsize))
        answer = importlib.import_module(f"functions.{folder}.app").handler(event, self.context)
        json.dumps(answer, ensure_ascii=False).encode()  # What Lambda does with it.
        text = answer.get("body", "")
        judge(route, answer["statusCode"], answer["headers"], text)
        return Answer(answer["statusCode"], answer["headers"], text)

    def new_user(self, **details: Any) -> str:
        """The id of a new user of the company, of whom this is said."""
        answer = self("POST", "/v1/users", details)
        assert answer.status == 201, answer.text
        user_id: str = answer.json["id"]
        return user_id

    def new_key(self, sealed_to: str | None = None, name: str = "another") -> "Api":
        """A client of the same company with a key of its own, which is good for one user alone if it is sealed."""
        answer = self("POST", "/v1/auth/keys", {"name": name, "active_tenant_user_id": sealed_to})
        assert answer.status == 201, answer.text
        return Api(self.company, sealed_to or self.user, answer.json["api_key"])

    def queue(self, name: str = "jobs", **settings: Any) -> str:
        """The id of a new queue."""
        answer = self("POST", "/v1/queue", {"name": name, **settings})
        assert answer.status == 201, answer.text
        queue_id: str = answer.json["id"]
        return queue_id

    def service(self, name: str = "worker", **settings: Any) -> str:
        """The id of a new service."""
        answer = self("POST", "/v1/compute", {"name": name, "type": "service", "image": "me/worker", **settings})
        assert answer.status == 201, answer.text
        service_id: str = answer.json["id"]
        return service_id

    def send(self, queue: str, body: str = "work", **fields: Any) -> str:
        """The id of a new message."""
        answer = self("POST", f"/v1/queue/{queue}/messages", {"body": body, **fields})
        assert answer.status == 201, answer.text
        message_id: str = answer.json["message_id"]
        return message_id

    def consumer(self, queue: str, **settings: Any) -> Any:
        """A new consumer of a queue."""
        answer = self("POST", f"/v1/queue/{queue}/consumer", settings)
        assert answer.status == 201, answer.text
        return answer.json

    def leased(self, queue: str, number: int) -> list[str]:
        """The receipt handles of so many new messages, all leased."""
        for start in range(0, number, 100):
            entries = [{"body": str(index)} for index in range(start, min(start + 100, number))]
            assert self("POST", f"/v1/queue/{queue}/messages/batch", {"messages": entries}).status == 200
        handles: list[str] = []
        while len(handles) < number:
            handles += [message["receipt_handle"] for message in self.receive(queue, max=10)]
        return handles

    def receive(self, queue: str, **query: Any) -> list[Any]:
        """What one receive gives; it does not wait unless told to."""
        answer = self("GET", f"/v1/queue/{queue}/messages", **{"wait": 0, **query})
        assert answer.status == 200, answer.text
        messages: list[Any] = answer.json["messages"]
        return messages


@pytest.fixture(autouse=True)
def aws() -> Iterator[None]:
    """Each test has an account of its own."""
    with fresh_account():
        yield


class Calls:
    """Every AWS call that is made, and faults for some of them.

    What fair use writes is apart, as Usage: that is not part of what a request does, and most requests write nothing.
    """

    def __init__(self) -> None:
        self.made: list[tuple[str, dict[str, Any]]] = []
        self.usage: list[dict[str, Any]] = []
        self._faults: dict[str, list[Any]] = {}

    def fail(self, operation: str, *outcomes: Any) -> None:
        """Give the next calls of an operation these outcomes.

        An error is raised, a function is called before the call goes through, None goes through, else it is an answer.
        """
        self._faults[operation] = list(outcomes)

    def names(self) -> list[str]:
        return [name for name, _ in self.made]

    def arguments(self, operation: str) -> list[dict[str, Any]]:
        return [arguments for name, arguments in self.made if name == operation]

    def outcome(self, operation: str, arguments: dict[str, Any]) -> Any:
        if counts_use(operation, arguments):
            operation = "Usage"
            self.usage.append(arguments)
        else:
            self.made.append((operation, arguments))
        outcomes = self._faults.get(operation, [])
        outcome = outcomes.pop(0) if outcomes else None
        if callable(outcome):
            outcome()
            return None
        return outcome


def counts_use(operation: str, arguments: dict[str, Any]) -> bool:
    """Whether an AWS call is one of fair use, which are made when it is time for one."""
    return operation == "UpdateItem" and arguments["TableName"] == "usage"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """A record of the AWS calls from here on."""
    record = Calls()
    real: Any = getattr(BaseClient, "_make_api_call")  # noqa: B009  # untyped, and every call goes through it

    def recorded(self: BaseClient, operation: str, arguments: dict[str, Any]) -> Any:
        outcome = record.outcome(operation, arguments)
        if isinstance(outcome, Exception):
            raise outcome
        return real(self, operation, arguments) if outcome is None else outcome

    monkeypatch.setattr(BaseClient, "_make_api_call", recorded)
    return record


def forget_grants() -> None:
    """Let so much time pass that no function goes by what it read before."""
    for cache in _caches.values():
        cache.expire(cache.timer() + auth.CACHE_SECONDS)


def aws_fault(code: str, status: int = 400) -> ClientError:
    """What AWS answers when it refuses."""
    text = "arn:aws:sqs:us-east-1:123456789012:nv-secret https://sqs.us-east-1.amazonaws.com/123456789012/nv-secret"
    response: Any = {"Error": {"Code": code, "Message": text}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "SomeOperation")


class Clock:
    """Time that passes as a test says."""

    def __init__(self) -> None:
        self.passed = 0.0

    def time(self) -> float:
        return time.time() + self.passed

    def monotonic(self) -> float:
        return time.monotonic() + self.passed


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of whoever may, waits, or counts."""
    clock = Clock()
    for module in (auth, leases, limits):
        monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds for which a first large message, or a new role, would have waited."""
    pauses: list[float] = []
    clock = SimpleNamespace(time=lambda: time.time(), sleep=pauses.append)
    monkeypatch.setattr(producer, "time", clock)
    monkeypatch.setattr(fleet, "time", clock)
    return pauses


@pytest.fixture
def api(aws: None) -> Api:
    """A client of a new company."""
    return new_company("acme")


@pytest.fixture
def cluster(aws: None) -> None:
    """What services need to run on."""
    make_cluster()


@pytest.fixture
def stranger(aws: None) -> Api:
    """A client of another company."""
    return new_company("other")


@contextmanager
def fresh_account() -> Iterator[None]:
    """An account with the template's tables; nothing is remembered from the one before."""
    with mock_aws():
        make_tables()
        yield
    _caches.clear()
    _accounts.clear()


def make_tables() -> None:
    """The template's tables."""
    for name in ("Registry", "Idempotency", "Usage"):
        made = {
            field: resource(name)[field]
            for field in ("BillingMode", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes")
            if field in resource(name)
        }
        operator("dynamodb").create_table(TableName=name.lower(), **made)


def make_cluster() -> None:
    """What an operator gives services to run on, and what the template makes for them."""
    operator("ecs").create_cluster(clusterName=ECS_CLUSTER)
    operator("sqs").create_queue(QueueName="ticks")
    ec2 = operator("ec2")
    subnets = [subnet["SubnetId"] for subnet in ec2.describe_subnets()["Subnets"]]
    groups = [group["GroupId"] for group in ec2.describe_security_groups()["SecurityGroups"]]
    fleet.NETWORK = fleet.NETWORK | {"subnets": subnets[:2], "securityGroups": groups[:1]}
    operator("logs").create_log_group(logGroupName=LOG_GROUP)


def new_company(name: str) -> Api:
    """A client of a new company, as bootstrap makes it."""
    from functions.bootstrap.app import handler

    made = handler({"company": name}, Context())
    return Api(made["company_id"], made["user_id"], made["api_key"])


def destroy_user(user: str, seconds: float = 900) -> None:
    """What the deletion of a user starts in the background: moto has no Lambda that could run it."""
    from functions.destroy_user.app import handler

    handler({"user": user}, Context(seconds))
