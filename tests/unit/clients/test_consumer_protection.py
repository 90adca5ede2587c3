"""The protection of an ECS task, as its agent is asked for it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import httpx
import pytest

from naive import Delivery, Stop
from naive.consumer import protection
from naive.consumer.protection import Protection
from tests.unit.clients.fake_api import QUEUE_ID, Served
from tests.unit.clients.fake_queue import FakeQueue

URI = "http://169.254.170.2/api/0123"
GIVEN = httpx.Response(200, json={"protection": {"ProtectionEnabled": True, "TaskArn": "arn"}})


class Agent:
    """The agent of a task, which answers what it is told to."""

    def __init__(self, answer: httpx.Response | Exception = GIVEN) -> None:
        self.answer = answer
        self.asked: list[tuple[str, object]] = []

    def protection(self) -> Protection:
        return Protection(URI, httpx.MockTransport(self._respond))

    def _respond(self, request: httpx.Request) -> httpx.Response:
        self.asked.append((f"{request.method} {request.url}", json.loads(request.content)))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture(autouse=True)
def nobody_else_holds_anything() -> Iterator[None]:
    yield
    assert not protection._holders


def test_the_agent_is_asked_by_its_own_words() -> None:
    agent = Agent()
    ours = agent.protection()
    assert ours.change(10)
    assert ours.change(None)
    ours.close()
    state = f"PUT {URI}/task-protection/v1/state"
    assert agent.asked == [
        (state, {"ProtectionEnabled": True, "ExpiresInMinutes": 10}),
        (state, {"ProtectionEnabled": False}),
    ]


def test_a_task_stays_protected_while_another_loop_of_it_holds_messages() -> None:
    agent = Agent()
    ours, theirs = agent.protection(), agent.protection()
    ours.change(10)
    theirs.change(10)
    assert ours.change(None)
    assert len(agent.asked) == 2
    theirs.change(None)
    assert len(agent.asked) == 3
    ours.close()
    theirs.close()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (httpx.Response(400, json={"error": {"Code": "InvalidParameterException"}}), "InvalidParameterException"),
        (httpx.Response(200, json={"failure": {"Reason": "DEPLOYMENT_BLOCKED"}}), "DEPLOYMENT_BLOCKED"),
        (httpx.Response(200, text="what?"), "Expecting value"),
        (httpx.ConnectError("refused"), "refused"),
        (httpx.ReadTimeout(""), "ReadTimeout"),
    ],
)
def test_what_is_not_granted_is_logged_and_no_error(
    answer: httpx.Response | Exception, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    ours = Agent(answer).protection()
    assert not ours.change(10)
    ours.close()
    assert said in caplog.text


def test_a_worker_on_ecs_is_protected_while_it_holds_messages(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    served.answer = {"protection": {"ProtectionEnabled": True}}
    monkeypatch.setenv("ECS_AGENT_URI", served.url)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    queue = FakeQueue()
    queue.put("a")
    stop = Stop()
    asked_before: list[list[str]] = []

    def handle(message: Delivery) -> None:
        asked_before.append(list(served.paths))
        stop()

    queue.client().queue.consume(QUEUE_ID, handle, stop=stop)
    assert asked_before == [["/task-protection/v1/state"]]
    assert served.paths == ["/task-protection/v1/state"] * 2


def test_a_worker_can_do_without_protection(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECS_AGENT_URI", served.url)
    queue = FakeQueue()
    queue.put("a")
    counts = queue.client().queue.consume(QUEUE_ID, lambda message: None, idle_exit=0, wait=0, protect_task=False)
    assert (counts.done, served.paths) == (1, [])


def test_an_agent_that_does_not_answer_does_not_keep_work_from_being_done(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ECS_AGENT_URI", "http://127.0.0.1:9")
    queue = FakeQueue()
    queue.put("a")
    began = time.monotonic()
    counts = queue.client().queue.consume(QUEUE_ID, lambda message: None, idle_exit=0, wait=0)
    assert counts.done == 1
    assert time.monotonic() - began < 10
    assert "could not be changed" in caplog.text
