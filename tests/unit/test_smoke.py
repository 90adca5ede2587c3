"""The smoke test itself: what it reports, and that it leaves no queue behind, whatever happens."""

import inspect
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import boto3
import httpx
import pytest
from moto import mock_aws

from tests.smoke import __main__ as command
from tests.smoke import gateway, leases, queues, resources
from tests.smoke.deployment import Deployment, Stopped, said
from tests.smoke.runner import Check, Outcome, Skipped, Unmet, expect, outcome, run
from tests.template import resource

MODULES = [resources, gateway, leases, queues]


class Api:
    """As much of the API as queues need, with faults to order."""

    def __init__(self) -> None:
        self.queues: dict[str, str] = {}
        self.made: list[str] = []
        self.create_status = 201
        self.delete_status = 204

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            name = json.loads(request.content)["name"]
            self.queues[name] = f"id-{name}"
            self.made.append(name)
            return httpx.Response(self.create_status, json={"id": self.queues[name], "name": name})
        if request.method == "DELETE":
            if self.delete_status == 204:
                self.queues = {n: id for n, id in self.queues.items() if not request.url.path.endswith(id)}
            return httpx.Response(self.delete_status)
        name = request.url.params["name"]
        found = [{"id": self.queues[name]}] if name in self.queues else []
        return httpx.Response(200, json={"queues": found})


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def deployment(api: Api, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    described = {"Parameters": [{"ParameterKey": "Stage", "ParameterValue": "dev"}]}
    with httpx.Client(base_url="https://api", transport=httpx.MockTransport(api)) as http:
        yield Deployment("naive", "https://api", http, boto3.Session(), described)


def test_every_check_is_made_once_and_says_what_aws_must_do() -> None:
    made = [*command.READING, *command.MAKING]
    written = [
        check
        for module in MODULES
        for name, check in inspect.getmembers(module, inspect.isfunction)
        if check.__module__ == module.__name__ and not name.startswith("_")
    ]
    assert sorted(check.__name__ for check in made) == sorted(check.__name__ for check in written)
    assert all(check.__doc__ for check in written)


def ends_well(deployment: Deployment) -> None:
    pass


def sees_something_else(deployment: Deployment) -> None:
    expect(201, 400)


def cannot_be_made_here(deployment: Deployment) -> None:
    raise Skipped("no http")


def breaks(deployment: Deployment) -> None:
    raise ValueError("two\n  lines")


@pytest.mark.parametrize(
    ("check", "line"),
    [
        (ends_well, "ok       ends well (2.0 s)"),
        (sees_something_else, "FAILED   sees something else (2.0 s): 201, not 400"),
        (cannot_be_made_here, "skipped  cannot be made here (2.0 s): no http"),
        (breaks, "FAILED   breaks (2.0 s): ValueError: two lines"),
    ],
)
def test_a_check_ends_in_one_line(deployment: Deployment, check: Check, line: str) -> None:
    assert str(replace(outcome(check, deployment), seconds=2)) == line


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (httpx.Response(204), "204"),
        (httpx.Response(200, json={"messages": []}), "200"),
        (httpx.Response(400, json={"error": {"code": "receipt_expired", "message": "…"}}), "400 receipt_expired"),
        (httpx.Response(413, json={"message": "Too long"}), "413 of the gateway (Too long)"),
        (httpx.Response(502, text="<html>"), "502"),
    ],
)
def test_an_answer_is_told_in_a_few_words(answer: httpx.Response, words: str) -> None:
    assert said(answer) == words


def test_a_queue_is_destroyed_when_its_check_fails(deployment: Deployment, api: Api) -> None:
    with pytest.raises(Unmet), deployment.queue():
        expect(list(api.queues.values()), [])
    assert (len(api.made), api.queues, deployment.left_behind) == (1, {}, [])


def test_a_queue_whose_creation_seemed_to_fail_is_destroyed_too(deployment: Deployment, api: Api) -> None:
    api.create_status = 503
    with pytest.raises(RuntimeError, match="POST /v1/queue answered 503, not 201"), deployment.queue():
        raise AssertionError("unreachable")
    assert (len(api.made), api.queues, deployment.left_behind) == (1, {}, [])


def test_a_queue_that_stays_is_named(deployment: Deployment, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    api.delete_status = 503
    with deployment.queue():
        pass
    assert deployment.left_behind == api.made


def test_what_stops_the_run_stops_the_checks_and_destroys_their_queues(deployment: Deployment, api: Api) -> None:
    waits = threading.Event()

    def waits_long(deployment: Deployment) -> None:
        with deployment.queue():
            waits.set()
            deployment.pause(60)

    def ends_then(deployment: Deployment) -> None:
        waits.wait(10)

    def report(outcome: Outcome) -> None:
        raise KeyboardInterrupt

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run([waits_long, ends_then], deployment, report)
    assert time.monotonic() - started < 10
    assert (len(api.made), api.queues) == (1, {})
    with pytest.raises(Stopped):
        deployment.call("GET", "/health")


@pytest.mark.parametrize(("path", "verdict"), [("/v1/queue/q/messages", "ok"), ("/v1/m?receipt_handle=h-1", "FAILED")])
def test_a_handle_in_the_access_log_is_noticed(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, path: str, verdict: str
) -> None:
    known = {"routeKey": "DELETE /v1/queue/{id}/messages", "status": "204", "path": path}
    line = re.sub(
        r"\$context\.([\w.]+)", lambda name: known.get(name[1], "-"), resource("Api")["AccessLogSettings"]["Format"]
    )
    monkeypatch.setattr(gateway, "_logged_ack", lambda deployment, group: ("h-1", [line]))
    assert outcome(gateway.the_access_log_holds_no_receipt_handle, deployment).verdict == verdict


def test_plain_http_that_is_not_denied_is_noticed(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "SETTLES_WITHIN", 0)
    with mock_aws():
        sqs = boto3.client("sqs")

        # moto holds no policy against anybody.
        @contextmanager
        def queue() -> Iterator[dict[str, Any]]:
            statement = {"Sid": "OnlyOverTls", "Effect": "Deny", "Principal": "*", "Action": "sqs:SendMessage"}
            policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
            sqs.create_queue(QueueName="nv-dev-u-q", Attributes={"Policy": policy})
            yield {"user_id": "u", "id": "q", "type": "standard"}

        monkeypatch.setattr(deployment, "queue", queue)
        with pytest.raises(Unmet, match="'http': 'sent', 'https': 'sent'"):
            queues.plain_http_is_denied(deployment)
        assert [url.rpartition("/")[2] for url in sqs.list_queues()["QueueUrls"]] == ["nv-dev-u-q"]
