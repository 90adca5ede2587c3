"""The deployed API answers as its document says, whatever it is asked: requests are made up from the document."""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis.checks import CheckFunction, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.e2e import seen
from tests.e2e.conftest import Api, unique
from tests.e2e.deployed import environment
from tests.openapi import COMMITTED, closed

CHECKS: list[CheckFunction] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# A fixture lasts for all requests to an operation, as is meant.
one_operation_a_test = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def schema(*, boundaries: bool, examples: int) -> schemathesis.BaseSchema:
    """What requests are made from, the same in every run; with boundaries also each field at and over its limits."""
    config = {
        "seed": 1,
        "generation": {
            "deterministic": True,
            "no-shrink": True,
            "database": "none",
            "max-examples": examples,
            "with-security-parameters": False,
        },
        "phases": {
            "coverage": {"enabled": boundaries, "unexpected-methods": []},
            "fuzzing": {"error-feedback": {"enabled": False}, "extra-data-sources": {"responses": False}},
        },
    }
    return schemathesis.openapi.from_dict(closed(), config=schemathesis.Config.from_dict(config))


WEBHOOK = {"type": "webhook", "url": "http://127.0.0.1:9/", "max_concurrency": 2}
MOUNT = "^/v1/users/[^/]+/"
OWN = schema(boundaries=True, examples=8).exclude(path_regex=MOUNT)
FOR_USER = schema(boundaries=False, examples=4).include(path_regex=MOUNT)


class Stage:
    """What made-up requests are directed to, so that they get further than refusals: queues, leases, users, and so on.

    Three of four are. What was made up to be malformed stays so.
    """

    KINDS: tuple[dict[str, Any], ...] = ({"dlq": True, "max_receive_count": 1}, {"type": "fifo"}, {})

    def __init__(self, api: Api) -> None:
        self.api = api
        self.user = str(api("GET", f"/v1/queue/{api.queue()}").json()["user_id"])
        self._turns: dict[tuple[str, str], Iterator[int]] = defaultdict(itertools.count)
        self._queues: dict[tuple[str, int], str] = {}
        self._services: dict[str, str] = {}
        self._handles: dict[str, list[str]] = defaultdict(list)

    def direct(self, case: Case[Any]) -> None:
        route = str(case.operation.label)
        path, headers, query, body = case.path_parameters, case.headers, case.query, case.body
        if path.get("user_id") and self._mostly(route, "user"):
            path["user_id"] = self._made_user(route) if route.endswith("{user_id}") else self.user
        if UUID.fullmatch(str(path.get("key_id"))) and self._mostly(route, "key_id"):
            path["key_id"] = self._made("/v1/auth/keys", name=unique())["key_id"]
        if UUID.fullmatch(str(path.get("service_id"))) and self._mostly(route, "service"):
            path["service_id"] = self._service(route)
        if isinstance(body, dict) and body.get("queue_id") and self._mostly(route, "consumer"):
            body["queue_id"] = self.api.queue()
        if isinstance(body, dict) and body.get("active_tenant_user_id") and self._mostly(route, "seal"):
            body["active_tenant_user_id"] = self.user
        if "X-Naive-User-Id" in headers and self._mostly(route, "header"):
            headers["X-Naive-User-Id"] = self.user
        if headers.get("Idempotency-Key") and self._mostly(route, "key"):
            headers["Idempotency-Key"] = unique()
        if str(query.get("wait")).isdigit():
            query["wait"] = min(int(query["wait"]), 1)
        if (
            route.endswith(("/queue", "/compute"))
            and isinstance(body, dict)
            and "name" in body
            and self._mostly(route, "name")
        ):
            body["name"] = unique()
        if UUID.fullmatch(str(path.get("id"))) and (turn := self._turn(route, "queue")) < 3:
            path["id"] = self._queue(route, turn)
            self._prepare(route, path["id"])
            self._fill(path["id"], query)
            self._fill(path["id"], body)
            if route.endswith("/consumer"):
                self._hire(route, path["id"], body)

    def _turn(self, of: str, what: str) -> int:
        return next(self._turns[of, what]) % 4

    def _mostly(self, of: str, what: str) -> bool:
        return self._turn(of, what) < 3

    def _made_user(self, route: str) -> str:
        """A user that nobody else needs, every other one with a queue."""
        user = str(self._made("/v1/users", label=unique())["id"])
        if self._turn(route, "user's queue") % 2:
            self._made(f"/v1/users/{user}/queue", name=unique())
        return user

    def _made(self, path: str, **fields: Any) -> Any:
        answer = self.api("POST", path, fields)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def _queue(self, route: str, kind: int) -> str:
        """A queue for this route, a new one when the last may be gone."""
        if (route.startswith("DELETE") and route.endswith("{id}")) or (route, kind) not in self._queues:
            self._queues[route, kind] = self.api.queue(**self.KINDS[kind])
        return self._queues[route, kind]

    def _service(self, route: str) -> str:
        """A service for this route, a new one when the last may be gone."""
        if route.startswith("DELETE") or route not in self._services:
            self._services[route] = self.api.service()
        return self._services[route]

    def _prepare(self, route: str, queue: str) -> None:
        """Put messages where the request will look for them."""
        if route.startswith("GET") and route.endswith("{id}/messages"):
            self._send(queue, 1)
        if route.endswith(("/dlq/messages", "/redrive")):
            self._send(queue, 2)
            for _ in range(2):
                self.api.receive(queue, max=10, visibility=0, wait=0)

    def _hire(self, route: str, queue: str, fields: Any) -> None:
        """Let the queue have a webhook, or be free for one, and ask only for what one has."""
        path = f"/v1/queue/{queue}/consumer"
        there = self.api("GET", path).status_code == 200
        if route.startswith("POST"):
            if there:
                assert self.api("DELETE", path).status_code == 204
        elif not there:
            self._made(path, **WEBHOOK)
        if isinstance(fields, dict) and self._mostly(route, "webhook"):
            for foreign in {
                "function",
                "service_id",
                "min",
                "max",
                "messages_per_worker",
                "idle_seconds",
            } & fields.keys():
                del fields[foreign]
            fields |= WEBHOOK if route.startswith("POST") else {"paused": True}

    def _send(self, queue: str, number: int) -> None:
        messages = [{"body": unique(), "group_id": unique()} for _ in range(number)]
        assert self.api("POST", f"/v1/queue/{queue}/messages/batch", {"messages": messages}).status_code == 200

    def _fill(self, queue: str, fields: Any) -> None:
        """Put real handles and ids where made-up ones are."""
        if isinstance(fields, list):
            for field in fields:
                self._fill(queue, field)
        if not isinstance(fields, dict):
            return
        if isinstance(fields.get("receipt_handle"), str) and self._mostly(queue, "handle"):
            fields["receipt_handle"] = self._handle(queue)
        if isinstance(fields.get("ack"), list):
            fields["ack"] = [self._handle(queue) if isinstance(ack, str) else ack for ack in fields["ack"]]
        if isinstance(fields.get("message_ids"), list) and fields["message_ids"] and self._mostly(queue, "ids"):
            letters = self.api("GET", f"/v1/queue/{queue}/dlq/messages").json().get("messages", [])
            fields["message_ids"] = [letter["message_id"] for letter in letters] or fields["message_ids"]
        self._fill(queue, [fields.get("retry"), fields.get("extend")])

    def _handle(self, queue: str) -> str:
        if not self._handles[queue]:
            self._send(queue, 10)
            received = self.api.receive(queue, max=10, visibility=600, wait=1)
            self._handles[queue] = [message["receipt_handle"] for message in received]
        return self._handles[queue].pop()


@pytest.fixture(scope="module")
def stage(stranger: Api) -> Stage:
    """In a company of its own, whose many queues are in nobody's way."""
    return Stage(stranger)


@pytest.fixture(scope="module")
def session(stranger: Api) -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.headers["Authorization"] = stranger.http.headers["Authorization"]
        session.hooks["response"].append(lambda got, **_: seen.answer(got.status_code, got.headers, got.text))
        yield session


@pytest.fixture
def statuses() -> Iterator[set[int]]:
    """The statuses that an operation answers."""
    seen: set[int] = set()
    yield seen
    assert any(200 <= status < 300 for status in seen), f"only refusals: {seen}"


def test_the_document_is_served_to_anybody_byte_for_byte() -> None:
    answer = httpx.get(environment("NAIVE_BASE_URL") + "/openapi.json")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.content == COMMITTED.read_bytes()


@OWN.parametrize()
@one_operation_a_test
def test_no_request_gets_an_undescribed_answer(
    case: Case[Any], stage: Stage, session: requests.Session, statuses: set[int]
) -> None:
    stage.direct(case)
    answer = case.call_and_validate(environment("NAIVE_BASE_URL"), session, checks=CHECKS)
    statuses.add(answer.status_code)


@FOR_USER.parametrize()
@one_operation_a_test
def test_no_request_for_a_user_gets_an_undescribed_answer(
    case: Case[Any], stage: Stage, session: requests.Session, statuses: set[int]
) -> None:
    stage.direct(case)
    answer = case.call_and_validate(environment("NAIVE_BASE_URL"), session, checks=CHECKS)
    statuses.add(answer.status_code)
