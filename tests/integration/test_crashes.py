"""A function dies before or after any AWS call; what comes next leaves whole queues and users, and nothing else.

The places to die are those of a recorded run, so a call that is added is covered.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient

from functions.reconcile.app import handler as reconcile
from tenancy import reconciler, table
from tests.integration.conftest import (
    Answer,
    Api,
    Calls,
    Context,
    aws_fault,
    counts_use,
    destroy_user,
    fresh_account,
    make_cluster,
    new_company,
)
from tests.integration.lambdas import deploy_ours
from tests.integration.leftovers import booked, counted, stored, traces, used_keys

QUEUE = {"name": "jobs", "type": "fifo", "dlq": True}
OTHER = {"name": "jobs", "visibility_timeout": 7}


@pytest.fixture(autouse=True)
def aws() -> None:
    """Each case here has an account of its own."""


class Died(BaseException):
    """The function's process is gone; no handler of ours sees it."""


@contextmanager
def hooked(hook: Callable[[int, str], None]) -> Iterator[list[str]]:
    """Call the hook before and after each AWS call with its number; the calls that were made are recorded.

    Those of fair use have no number, since a slow run makes more of them.
    """
    made: list[str] = []
    real: Any = getattr(BaseClient, "_make_api_call")  # noqa: B009  # untyped, and every call goes through it

    def call(self: BaseClient, operation: str, arguments: dict[str, Any]) -> Any:
        if counts_use(operation, arguments):
            return real(self, operation, arguments)
        number = len(made)
        made.append(operation)
        hook(number, "before")
        try:
            return {} if operation == "Invoke" else real(self, operation, arguments)  # moto has no Lambda to start
        finally:
            hook(number, "after")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseClient, "_make_api_call", call)
        yield made


def dying(at: int, when: str) -> AbstractContextManager[list[str]]:
    """Let the process die before or after the call of that number."""

    def hook(number: int, moment: str) -> None:
        if (number, moment) == (at, when):
            raise Died

    return hooked(hook)


def meanwhile(at: int, act: Callable[[], Any]) -> AbstractContextManager[list[str]]:
    """Let something else happen before the call of that number."""
    done: list[int] = []

    def hook(number: int, moment: str) -> None:
        if number == at and not done:
            done.append(number)
            act()

    return hooked(hook)


def create(api: Api, body: Any = QUEUE) -> Answer:
    return api("POST", "/v1/queue", body)


def destroy(api: Api) -> Answer:
    (queue,) = api("GET", "/v1/queue", name="jobs").json["queues"]
    return api("DELETE", f"/v1/queue/{queue['id']}")


@contextmanager
def account() -> Iterator[Api]:
    """A fresh account with one company."""
    with fresh_account():
        yield new_company("acme")


def places[T](
    act: Callable[[T], Answer | None],
    prepare: Callable[[Api], T],
    account: Callable[[], AbstractContextManager[Api]] = account,
) -> list[tuple[int, str]]:
    """Before and after each call of a run in which nothing goes wrong."""
    with account() as api:
        prepared = prepare(api)
        with hooked(lambda number, when: None) as made:
            answer = act(prepared)
        assert answer is None or answer.status < 300
    assert len(made) >= 4
    return [(number, when) for number in range(len(made)) for when in ("before", "after")]


def with_queue(api: Api) -> Api:
    """The same client, which has the queue now."""
    assert create(api).status == 201
    return api


def later(seconds: float, patch: pytest.MonkeyPatch) -> None:
    now = time.time() + seconds
    patch.setattr(time, "time", lambda: now)


def repeat_the_same(api: Api, patch: pytest.MonkeyPatch) -> None:
    until_it_is_there(api, QUEUE, patch)


def repeat_with_other_settings(api: Api, patch: pytest.MonkeyPatch) -> None:
    until_it_is_there(api, OTHER, patch)


def leave_it_to_the_reconciler(api: Api, patch: pytest.MonkeyPatch) -> None:
    """Nothing is repeated."""


def until_it_is_there(api: Api, body: Any, patch: pytest.MonkeyPatch) -> None:
    """Create, and again once a first attempt can no longer be at work."""
    answer = create(api, body)
    if answer.status == 409 and answer.code == "request_in_progress":
        assert int(answer.headers["Retry-After"]) <= 30
        later(31, patch)
        answer = create(api, body)
    assert answer.status == 201 or answer.code == "already_exists", answer.text


NEXT = [repeat_the_same, repeat_with_other_settings, leave_it_to_the_reconciler]


@pytest.mark.parametrize("then", NEXT, ids=lambda then: then.__name__)
def test_a_create_that_dies_leaves_one_queue_or_none(then: Any, subtests: pytest.Subtests) -> None:
    for at, when in places(create, lambda api: api):
        with subtests.test(at=at, when=when), account() as api, pytest.MonkeyPatch.context() as patch:
            with dying(at, when), pytest.raises(Died):
                create(api)
            then(api, patch)
            assert_tidy(api, patch, queues=None if then is leave_it_to_the_reconciler else 1)


def test_after_a_create_that_died_two_at_once_make_one_queue(subtests: pytest.Subtests) -> None:
    for at, when in places(create, lambda api: api):
        for overtaken_at in range(8):
            with (
                subtests.test(at=at, when=when, overtaken_at=overtaken_at),
                account() as api,
                pytest.MonkeyPatch.context() as patch,
            ):
                with dying(at, when), pytest.raises(Died):
                    create(api)
                later(31, patch)
                answers: list[Answer] = []
                with meanwhile(overtaken_at, lambda: answers.append(create(api, OTHER))):  # noqa: B023  # called here
                    answers.append(create(api))
                assert sum(answer.status == 201 for answer in answers) <= 1
                assert {answer.status for answer in answers} <= {201, 409}
                if not any(answer.status == 201 or answer.code == "already_exists" for answer in answers):
                    until_it_is_there(api, QUEUE, patch)
                assert_tidy(api, patch, queues=1)


@pytest.mark.parametrize("then", [*NEXT, destroy], ids=lambda then: then.__name__)
def test_a_destroy_that_dies_leaves_the_queue_or_nothing(then: Any, subtests: pytest.Subtests) -> None:
    for at, when in places(destroy, with_queue):
        with subtests.test(at=at, when=when), account() as api, pytest.MonkeyPatch.context() as patch:
            assert create(api).status == 201
            with dying(at, when), pytest.raises(Died):
                destroy(api)
            if then is not destroy:
                then(api, patch)
            elif api("GET", "/v1/queue", name="jobs").json["queues"]:
                assert destroy(api).status == 204
            assert_tidy(api, patch, queues=None if then is leave_it_to_the_reconciler else int(then is not destroy))


def assert_tidy(api: Api, patch: pytest.MonkeyPatch, queues: int | None) -> None:
    """After the reconciler: so many queues (None is one at most), each whole, and nothing else anywhere."""
    later(61, patch)
    planned = reconcile({"dry_run": True}, Context())
    assert reconcile({}, Context()) == [{**action, "outcome": "destroyed"} for action in planned]
    assert reconcile({}, Context()) == []
    listed = api("GET", "/v1/queue").json["queues"]
    assert len(listed) == queues or (queues is None and len(listed) <= 1)
    records = stored()
    assert {record["pk"]["S"] for record in records if record["sk"]["S"] == "QUEUE"} == {
        f"QUEUE#{queue['id']}" for queue in listed
    }
    names = [record for record in records if record["sk"]["S"].startswith("QUEUE_NAME#")]
    assert [name["queue_id"]["S"] for name in names] == [queue["id"] for queue in listed]
    assert not any("due" in record for record in records)
    assert counted(api.user) == (len(listed), len(listed))
    urls = boto3.client("sqs").list_queues().get("QueueUrls", [])
    assert len(urls) == sum(1 + queue["dlq"] for queue in listed)
    for queue in listed:
        assert sum(queue["id"].replace("-", "") in url for url in urls) == 1 + queue["dlq"]
        assert api("GET", f"/v1/queue/{queue['id']}").status == 200
        fields = {"group_id": "g"} if queue["type"] == "fifo" else {}
        api.send(queue["id"], "works", **fields)
    if not listed:
        assert create(api, OTHER).status == 201, "the name is not free"
    assert table.due("creating", before=2**40, limit=9) == []


def test_the_reconciler_leaves_alone_what_may_be_in_progress() -> None:
    with account() as api:
        with dying(2, "before"), pytest.raises(Died):
            create(api)
        assert reconcile({}, Context()) == []


def test_one_that_fails_does_not_keep_the_reconciler_from_the_others(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    with account() as api:
        for name in ("a", "b"):
            calls.fail("UpdateItem", aws_fault("InternalServerError", 500))
            assert create(api, {"name": name}).status == 503
        later(31, monkeypatch)
        calls.fail("DeleteQueue", aws_fault("InternalError", 500))
        assert [action["outcome"] for action in reconcile({}, Context())] == ["failed", "destroyed"]
        later(31, monkeypatch)
        assert [action["outcome"] for action in reconcile({}, Context())] == ["destroyed"]


def test_what_cannot_be_destroyed_lets_the_reconciler_come_to_the_others(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    with account() as api:
        for name in ("a", "b"):
            queue = create(api, {"name": name}).json["id"]
            calls.fail("DeleteQueue", aws_fault("InternalError", 500))
            assert api("DELETE", f"/v1/queue/{queue}").status == 204
        monkeypatch.setattr(reconciler, "_AT_A_TIME", 3)  # so one of each kind and state
        later(300, monkeypatch)
        calls.fail("DeleteQueue", aws_fault("InternalError", 500))
        first = reconcile({}, Context())
        later(301, monkeypatch)
        second = reconcile({}, Context())
        assert [[action["outcome"] for action in actions] for actions in (first, second)] == [["failed"], ["destroyed"]]
        assert first[0]["resource"] != second[0]["resource"]
        assert [action["resource"] for action in reconcile({}, Context())] == [first[0]["resource"]]
        assert reconcile({}, Context()) == []


@dataclass
class Tenant:
    """A company's client, and one of a user of it who has something of all that a user can have."""

    company: Api
    client: Api
    queue: str
    service: str

    @property
    def user(self) -> str:
        return self.client.user

    def delete(self) -> Answer:
        return self.company("DELETE", f"/v1/users/{self.user}", force="true")

    def demolish(self) -> None:
        destroy_user(self.user)


def tenant(api: Api) -> Tenant:
    make_cluster()
    client = api.new_key(api.new_user(external_id="4711"))
    queue = client.queue("jobs", dlq=True)
    deploy_ours()
    client.consumer(client.queue("hooked"), type="webhook", url="http://127.0.0.1:9/hook")
    service = client.service()
    return Tenant(api, client, queue, service)


def deleted(api: Api) -> Tenant:
    one = tenant(api)
    assert one.delete().status == 204
    return one


def assert_gone(one: Tenant, patch: pytest.MonkeyPatch) -> None:
    """After the reconciler: nothing of the user anywhere, and its external id is free."""
    later(61, patch)
    assert {action["outcome"] for action in reconcile({}, Context(240))} <= {"destroyed", "finished"}
    assert reconcile({}, Context(240)) == []
    assert traces(one.user) == []
    assert booked(one.company.company) == (0, 0)
    assert one.client("GET", "/v1/queue").status == 401
    assert one.company("POST", "/v1/users", {"external_id": "4711"}).status == 201


def test_a_deletion_that_dies_leaves_the_user_or_nothing(subtests: pytest.Subtests) -> None:
    for at, when in places(Tenant.delete, tenant):
        with subtests.test(at=at, when=when), account() as api, pytest.MonkeyPatch.context() as patch:
            one = tenant(api)
            with dying(at, when), pytest.raises(Died):
                one.delete()
            if api("GET", f"/v1/users/{one.user}").status == 200:
                assert len(one.client("GET", "/v1/queue").json["queues"]) == 2
                assert one.delete().status == 204
            assert one.client("GET", "/v1/queue").status == 401
            assert_gone(one, patch)


def test_a_demolition_that_dies_is_finished_by_whoever_goes_on(subtests: pytest.Subtests) -> None:
    for at, when in places(Tenant.demolish, deleted):
        with subtests.test(at=at, when=when), account() as api, pytest.MonkeyPatch.context() as patch:
            one = deleted(api)
            used = used_keys()
            with dying(at, when), pytest.raises(Died):
                one.demolish()
            assert one.client("GET", "/v1/queue").status == 401
            if (
                when == "before"
            ):  # else the reconciler goes on; after one call is before the next, so both try each place
                one.demolish()
            assert_gone(one, patch)
            assert len(used_keys()) == len(used) - 1


def test_two_demolitions_at_once_are_one(subtests: pytest.Subtests) -> None:
    for at, _ in places(Tenant.demolish, deleted)[::2]:
        with subtests.test(at=at), account() as api, pytest.MonkeyPatch.context() as patch:
            one = deleted(api)
            with meanwhile(at, one.demolish):
                one.demolish()
            assert_gone(one, patch)


def create_another(one: Tenant) -> Answer:
    return create(one.client, {"name": "other", "type": "fifo", "dlq": True})


def destroy_it(one: Tenant) -> Answer:
    return one.client("DELETE", f"/v1/queue/{one.queue}")


def create_a_service(one: Tenant) -> Answer:
    settings = {"name": "other", "type": "service", "image": "me/worker", "queue_id": one.queue}
    return one.client("POST", "/v1/compute", settings)


def destroy_the_service(one: Tenant) -> Answer:
    return one.client("DELETE", f"/v1/compute/{one.service}")


ACTS = [create_another, destroy_it, create_a_service, destroy_the_service]


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
def test_a_user_who_is_deleted_in_the_middle_of_a_request_leaves_nothing(
    act: Callable[[Tenant], Answer], subtests: pytest.Subtests
) -> None:
    for at, _ in places(act, tenant)[::2]:
        with subtests.test(at=at), account() as api, pytest.MonkeyPatch.context() as patch:
            one = tenant(api)

            def delete(one: Tenant = one) -> None:
                assert one.delete().status == 204
                one.demolish()

            with meanwhile(at, delete):
                answer = act(one)
            assert answer.status in (201, 204, 401, 404)
            assert_gone(one, patch)


@pytest.mark.parametrize("act", [create_another, create_a_service], ids=lambda act: act.__name__)
def test_a_create_that_died_before_its_user_was_deleted_leaves_nothing(
    act: Callable[[Tenant], Answer], subtests: pytest.Subtests
) -> None:
    for at, when in places(act, tenant):
        with subtests.test(at=at, when=when), account() as api, pytest.MonkeyPatch.context() as patch:
            one = tenant(api)
            with dying(at, when), pytest.raises(Died):
                act(one)
            assert one.delete().status == 204
            one.demolish()
            assert_gone(one, patch)
