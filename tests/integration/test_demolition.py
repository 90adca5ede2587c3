"""What a deleted user had is destroyed in the background, all of it and nothing of anybody else's."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from functions.destroy_user.app import handler as destroyer
from functions.reconcile.app import handler as reconcile
from tenancy import demolition
from tenancy.errors import QueueError
from tests.integration.conftest import Api, Calls, Context, aws_fault, destroy_user
from tests.integration.lambdas import deploy, deploy_ours, mappings
from tests.integration.leftovers import (
    counted,
    parameters,
    roles,
    services,
    sqs_names,
    stored,
    task_definitions,
    traces,
    used_keys,
)

pytestmark = pytest.mark.usefixtures("cluster")

HOOK = "http://127.0.0.1:9/hook"


@pytest.fixture(autouse=True)
def functions(api: Api) -> None:
    """What consumers of the company may be."""
    deploy_ours()
    deploy("f", api.company)


def furnished(api: Api, user: str) -> Api:
    """A client of the user, which from now on has everything that a user can have."""
    client = api.new_key(user)
    client.queue("plain")
    client.queue("with-dlq", dlq=True)
    client.send(client.queue("orders", type="fifo", dlq=True), group_id="g")
    for name, consumer in {
        "with-webhook": {"type": "webhook", "url": HOOK},
        "with-function": {"type": "function", "function": "f"},
    }.items():
        client.consumer(client.queue(name), **consumer, max_concurrency=2)
    client.service("alone")
    client.service("worker", queue_id=client.queue("work"))
    assert api.new_key(user)("GET", "/v1/users/me").status == 200
    return client


def everything() -> list[Any]:
    """What is stored, and the names of what there is in AWS."""
    fed = [mapping["UUID"] for mapping in mappings()]
    return [stored(), sqs_names(), roles(), used_keys(), services(), task_definitions(), parameters(), fed]


def delete(api: Api, user: str) -> None:
    assert api("DELETE", f"/v1/users/{user}", force="true").status == 204


def pass_seconds(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time() + seconds
    monkeypatch.setattr(time, "time", lambda: now)


def test_all_that_a_user_had_is_destroyed_and_nothing_of_anybody_elses(api: Api) -> None:
    sibling = furnished(api, api.new_user(external_id="kept"))
    before = everything()
    client = furnished(api, api.new_user(external_id="gone"))
    assert [len(things) for things in everything()[1:]] == [16, 4, 5, 4, 4, 4, 4]
    delete(api, client.user)
    destroy_user(client.user)
    assert everything() == before
    assert client("GET", "/v1/users/me").status == 401
    assert sibling("GET", "/v1/users/me").status == 200


def test_a_revoked_key_of_a_deleted_user_goes_too(api: Api) -> None:
    user = api.new_user()
    key = api("POST", "/v1/auth/keys", {"name": "k", "active_tenant_user_id": user}).json["key_id"]
    assert api("DELETE", f"/v1/auth/keys/{key}").status == 204
    delete(api, user)
    destroy_user(user)
    assert traces(user) == []


def test_a_user_that_was_destroyed_can_be_destroyed_again(api: Api, calls: Calls) -> None:
    user = api.new_user()
    delete(api, user)
    destroy_user(user)
    before = len(calls.made)
    destroy_user(user)
    assert calls.names()[before:] == ["BatchGetItem"]


def test_a_user_that_is_in_use_is_never_destroyed(api: Api) -> None:
    client = furnished(api, api.new_user())
    before = stored(), sqs_names()
    with pytest.raises(QueueError, match="on our side"):
        destroy_user(client.user)
    assert (stored(), sqs_names()) == before


def test_a_deletion_starts_the_function_that_destroys(api: Api, calls: Calls) -> None:
    user = api.new_user()
    calls.fail("Invoke", {"StatusCode": 202})
    delete(api, user)
    (started,) = calls.arguments("Invoke")
    assert (started["FunctionName"], started["InvocationType"]) == ("naive-test-destroy_user", "Event")
    destroyer(json.loads(started["Payload"]), Context(900))
    assert traces(user) == []


@pytest.mark.parametrize("fault", [aws_fault("TooManyRequestsException", 429), aws_fault("AccessDeniedException", 403)])
def test_one_whose_function_does_not_start_is_destroyed_by_the_reconciler(
    api: Api, calls: Calls, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    client = furnished(api, api.new_user())
    calls.fail("Invoke", fault)
    delete(api, client.user)
    assert reconcile({}, Context(240)) == [], "the function may still be at it"
    pass_seconds(61, monkeypatch)
    (planned,) = reconcile({"dry_run": True}, Context(240))
    (action,) = reconcile({}, Context(240))
    assert action == planned | {"outcome": "destroyed"}
    assert (action["resource"], action["left"]) == (f"user {client.user}", "half destroyed")
    assert traces(client.user) == []
    assert reconcile({}, Context(240)) == []


def test_a_queue_that_fails_is_left_to_the_reconciler_and_keeps_nobody_from_the_rest(
    api: Api, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = furnished(api, api.new_user())
    delete(api, client.user)
    calls.fail("DeleteQueue", aws_fault("InternalError", 500))
    destroy_user(client.user)
    record, *names = traces(client.user)
    assert (record["due"]["S"], len(names)) == ("deleting", 2)
    pass_seconds(61, monkeypatch)
    assert [action["outcome"] for action in reconcile({}, Context(240))] == ["destroyed"]
    assert traces(client.user) == []


@pytest.mark.parametrize("operation", ["DeleteRole", "DeleteRolePolicy"])
def test_one_whose_role_stays_is_not_done(
    api: Api, calls: Calls, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    client = furnished(api, api.new_user())
    delete(api, client.user)
    calls.fail(operation, aws_fault("ServiceFailure", 500), aws_fault("Throttling"))
    with pytest.raises(Exception, match="a service behind this API"):
        destroy_user(client.user)
    pass_seconds(61, monkeypatch)
    assert [action["outcome"] for action in reconcile({}, Context(240))] == ["failed"]
    assert [action["outcome"] for action in reconcile({}, Context(240))] == ["destroyed"]
    assert traces(client.user) == []


def test_more_queues_than_there_is_time_for_are_destroyed_by_whoever_goes_on(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = api.new_key(api.new_user())
    for number in range(120):
        client.queue(f"q{number:03}")
    delete(api, client.user)
    with in_a_hurry():
        destroy_user(client.user, seconds=20)
    left = len(sqs_names())
    assert 108 < left < 115
    assert counted(client.user) == (left, left)
    assert client("GET", "/v1/queue").status == 401
    pass_seconds(61, monkeypatch)
    with in_a_hurry():
        assert [action["outcome"] for action in reconcile({}, Context(15))] == ["not finished"]
    assert 100 < len(sqs_names()) < left
    assert [action["outcome"] for action in reconcile({}, Context(240))] == ["destroyed"]
    assert traces(client.user) == []


@contextmanager
def in_a_hurry() -> Iterator[None]:
    """Let the clock of a demolition be a second later at each look at it."""
    looks = count()
    clock = SimpleNamespace(time=time.time, monotonic=lambda: time.monotonic() + next(looks))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demolition, "time", clock)
        yield


def test_a_key_goes_before_what_it_is_found_by(api: Api, calls: Calls) -> None:
    client = api.new_key(api.new_user())
    delete(api, client.user)
    destroy_user(client.user)
    kinds = [arguments["Key"]["pk"]["S"].partition("#")[0] for arguments in registry_deletes(calls)]
    assert kinds == ["KEY", "COMPANY", "USER", "USER"]


def registry_deletes(calls: Calls) -> list[Any]:
    return [arguments for arguments in calls.arguments("DeleteItem") if arguments["TableName"] == "registry"]
