"""Every change is one line that says who changed what and how it ended; what is read or sent is none of these."""

import importlib
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from functions.bootstrap.app import handler as bootstrap
from tenancy import endpoint, telemetry
from tenancy.names import new_id
from tests.integration.conftest import Api, Calls, aws_fault, destroy_user
from tests.integration.lambdas import deploy_ours
from tests.template import functions, routes

HOOK = "http://127.0.0.1:9/hook"
# What each changes and how it is asked; its own ids are named in braces. Every function stands in one of these.
CHANGES: dict[str, tuple[str, str, Any, str]] = {
    "create_user": ("POST", "/v1/users", {"label": "x"}, "id"),
    "update_user": ("PATCH", "/v1/users/{user}", {"label": "x"}, "user"),
    "delete_user": ("DELETE", "/v1/users/{user}", None, "user"),
    "create_key": ("POST", "/v1/auth/keys", {"name": "x"}, "key_id"),
    "delete_key": ("DELETE", "/v1/auth/keys/{key}", None, "key"),
    "create_queue": ("POST", "/v1/users/{owner}/queue", {"name": "new"}, "id"),
    "update_queue": ("PATCH", "/v1/users/{owner}/queue/{queue}", {"delay_seconds": 1}, "queue"),
    "purge_queue": ("POST", "/v1/users/{owner}/queue/{queue}/purge", None, "queue"),
    "purge_dlq": ("POST", "/v1/users/{owner}/queue/{queue}/dlq/purge", None, "queue"),
    "redrive_dlq": ("POST", "/v1/users/{owner}/queue/{queue}/redrive", {"max": 1}, "queue"),
    "create_consumer": ("POST", "/v1/users/{owner}/queue/{queue}/consumer", {"type": "webhook", "url": HOOK}, "queue"),
    "update_consumer": ("PATCH", "/v1/users/{owner}/queue/{worked}/consumer", {"paused": True}, "worked"),
    "delete_consumer": ("DELETE", "/v1/users/{owner}/queue/{worked}/consumer", None, "worked"),
    "delete_queue": ("DELETE", "/v1/users/{owner}/queue/{queue}", None, "queue"),
    "create_compute": (
        "POST",
        "/v1/users/{owner}/compute",
        {"name": "new", "type": "service", "image": "me/worker"},
        "id",
    ),
    "start_compute": ("POST", "/v1/users/{owner}/compute/{service}/start", None, "service"),
    "stop_compute": ("POST", "/v1/users/{owner}/compute/{service}/stop", None, "service"),
    "scale_compute": ("POST", "/v1/users/{owner}/compute/{service}/scale", {"count": 2}, "service"),
    "delete_compute": ("DELETE", "/v1/users/{owner}/compute/{service}", None, "service"),
}
READS = {
    "get_queue",
    "get_queue_attributes",
    "list_queues",
    "get_consumer",
    "get_compute",
    "get_compute_logs",
    "list_compute",
    "get_user",
    "list_users",
    "list_keys",
    "peek_dlq",
}
MESSAGES = {
    "send_message",
    "send_message_batch",
    "receive_messages",
    "delete_message",
    "change_message_visibility",
    "settle_messages",
}
PUBLIC = {"health", "openapi", "get_limits", "not_found"}
NO_REQUESTS = {"bootstrap", "depth_alarm", "destroy_user", "reconcile", "webhook_worker", "consumer_example"}

type Lines = Callable[[], list[Any]]


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Lines:
    """The log lines since the last look; the first look is to be before anything that matters."""

    def since() -> list[Any]:
        for handler in telemetry.logger.handlers:
            monkeypatch.setattr(handler, "stream", sys.stdout)  # which capsys exchanged since the logger was made
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return since


@pytest.fixture
def ids(api: Api, cluster: None) -> dict[str, str]:
    """What there is to change: a user, a queue, a service and their owner, a key; and the id of the key that asks."""
    (own,) = api("GET", "/v1/auth/keys").json["keys"]
    owner = api.new_key(api.new_user())
    key = api("POST", "/v1/auth/keys", {"name": "k"}).json["key_id"]
    deploy_ours()
    worked = owner.queue("worked")
    owner.consumer(worked, type="webhook", url=HOOK)
    return {
        "user": api.new_user(),
        "owner": owner.user,
        "queue": owner.queue(dlq=True),
        "worked": worked,
        "service": owner.service(),
        "key": key,
        "own key": own["key_id"],
    }


def test_every_function_is_one_that_changes_something_or_is_not() -> None:
    folders = {properties["CodeUri"].removeprefix("functions/") for properties in functions().values()}
    groups = [set(CHANGES), READS, MESSAGES, PUBLIC, NO_REQUESTS]
    assert folders - set().union(*groups) == set()
    assert sum(map(len, groups)) == len(set().union(*groups))


@pytest.mark.parametrize("folder", sorted(set(routes().values())))
def test_an_operation_is_audited_if_it_changes_something(folder: str) -> None:
    operation = importlib.import_module(f"functions.{folder}.app").handler.operation
    assert operation.audited == (folder in CHANGES)


@pytest.mark.parametrize("folder", CHANGES)
def test_a_change_is_one_line_that_says_who_did_what(
    api: Api, ids: dict[str, str], calls: Calls, lines: Lines, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "OPERATION", folder)
    method, path, body, what = CHANGES[folder]
    calls.fail("Invoke", {"StatusCode": 202})
    lines()
    answer = api(method, path.format(**ids), body)
    assert answer.status < 300, answer.text
    (line,) = lines()
    expected = {
        "audit": True,
        "company": api.company,
        "user": subject(api, path, ids),
        "key_id": ids["own key"],
        "operation": folder,
        "resource": ids[what] if what in ids else answer.json[what],
        "request_id": answer.headers["X-Request-Id"],
        "outcome": "done",
        "status": answer.status,
    }
    assert line | expected == line


def subject(api: Api, path: str, ids: dict[str, str]) -> str:
    return ids["user"] if "{user}" in path else ids["owner"] if "{owner}" in path else api.user


@pytest.mark.parametrize("folder", CHANGES)
def test_a_change_that_is_refused_is_one_line_with_the_reason(
    api: Api, ids: dict[str, str], lines: Lines, folder: str
) -> None:
    method, path, body, what = CHANGES[folder]
    lines()
    answer = api(method, path.format(**ids), body, unknown=1)
    assert answer.status == 400
    (line,) = lines()
    expected = {
        "audit": True,
        "company": api.company,
        "user": subject(api, path, ids),
        "key_id": ids["own key"],
        "outcome": "invalid_input",
        "request_id": answer.headers["X-Request-Id"],
    }
    assert line | expected == line
    if what in ids:
        assert line["resource"] == ids[what]


@pytest.mark.parametrize("folder", CHANGES)
def test_a_change_of_what_is_not_there_is_one_line_too(
    api: Api, ids: dict[str, str], lines: Lines, folder: str
) -> None:
    method, path, body, _ = CHANGES[folder]
    nobody = new_id()
    lines()
    answer = api(method, path.format(**dict.fromkeys(ids, nobody)), body, headers={"x-naive-user-id": nobody})
    (line,) = lines()
    assert (answer.status, line["audit"], line["outcome"]) == (404, True, "not_found")
    assert line["resource"] == (nobody if "{" in path else None)


def test_a_change_that_failed_by_our_fault_says_so(api: Api, calls: Calls, lines: Lines) -> None:
    lines()
    for fault, outcome in (aws_fault("AccessDenied", 403), "internal_error"), (aws_fault("Throttling"), "unavailable"):
        calls.fail("TransactWriteItems", fault)
        assert api("POST", "/v1/users").code == outcome
        (line,) = [line for line in lines() if "status" in line]
        assert (line["audit"], line["outcome"], line["company"]) == (True, outcome, api.company)


def test_a_repeat_that_changed_nothing_says_so(api: Api, lines: Lines) -> None:
    lines()
    made = [api("POST", "/v1/users", headers={"idempotency-key": "k"}).json["id"] for _ in range(2)]
    first, again = lines()
    assert [line["resource"] for line in (first, again)] == made
    assert (first.get("replayed"), again.get("replayed")) == (None, True)


def test_what_a_caller_made_up_is_not_repeated_on_the_line(api: Api, lines: Lines) -> None:
    lines()
    for key in api.key, "nv_sk_live_" + "A" * 43:
        api.key = key
        assert api("DELETE", "/v1/queue/canary-in-an-id").status in (401, 404)
    found, unknown = lines()
    assert (found["resource"], unknown["resource"]) == (None, None)
    assert (found["outcome"], unknown["outcome"]) == ("not_found", "unauthorized")
    assert "canary" not in repr([found, unknown])


def test_what_is_read_or_sent_is_no_change(api: Api, lines: Lines) -> None:
    queue = api.queue(dlq=True)
    lines()
    for path in "/v1/users", "/v1/users/me", "/v1/auth/keys", "/v1/queue", f"/v1/queue/{queue}":
        assert api("GET", path).status == 200
    api.send(queue)
    (message,) = api.receive(queue)
    assert api("DELETE", f"/v1/queue/{queue}/messages", receipt_handle=message["receipt_handle"]).status == 204
    seen = lines()
    assert len(seen) == 8
    assert all("audit" not in line and line["outcome"] == "done" for line in seen)


@pytest.mark.usefixtures("cluster")
def test_what_is_changed_without_a_request_is_audited_alike(api: Api, lines: Lines, calls: Calls) -> None:
    lines()
    made = bootstrap({"company": "another"}, None)
    (line,) = lines()
    expected = {"audit": True, "outcome": "done", "company": made["company_id"], "user": made["user_id"]}
    assert line | expected | {"key_id": made["key_id"], "resource": made["company_id"]} == line
    assert made["api_key"][-43:] not in repr(line)
    owner = api.new_key(api.new_user())
    things = {*(owner.queue(name) for name in "ab"), owner.service()}
    calls.fail("Invoke", {"StatusCode": 202})
    assert api("DELETE", f"/v1/users/{owner.user}", force="true").status == 204
    lines()
    destroy_user(owner.user)
    changed = lines()
    expected = {"audit": True, "outcome": "done", "company": api.company, "user": owner.user}
    assert all(line | expected == line for line in changed)
    assert [line["resource"] for line in changed][-1] == owner.user
    assert {line["resource"] for line in changed[:-1]} == things
