"""A function dies before or after any AWS call on a service; what comes next leaves whole services and nothing else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from moto import mock_aws

from functions.reconcile.app import handler as reconcile
from tenancy import table
from tests.integration.conftest import Answer, Api, Context, make_cluster, make_tables, new_company
from tests.integration.leftovers import counted, parameters, services, stored, task_definitions
from tests.integration.test_crashes import Died, dying, later, meanwhile, places

NEW = {"name": "worker", "type": "service", "image": "me/worker"}


@pytest.fixture(autouse=True)
def aws() -> None:
    """Each case here has an account of its own."""


@contextmanager
def account() -> Iterator[Api]:
    """A fresh account with one company, which has a queue, and where services can run."""
    with mock_aws():
        make_tables()
        make_cluster()
        api = new_company("acme")
        api.queue("jobs")
        yield api


def queue_of(api: Api) -> Any:
    return api("GET", "/v1/queue").json["queues"][0]["id"]


def create_alone(api: Api) -> Answer:
    return api("POST", "/v1/compute", NEW)


def create_for_queue(api: Api) -> Answer:
    return api("POST", "/v1/compute", NEW | {"queue_id": queue_of(api)})


CREATE = pytest.mark.parametrize("create", [create_alone, create_for_queue], ids=lambda create: create.__name__)


def destroy(api: Api) -> Answer:
    (service,) = api("GET", "/v1/compute", name="worker").json["services"]
    return api("DELETE", f"/v1/compute/{service['id']}")


def until_it_is_there(api: Api, create: Callable[[Api], Answer], patch: pytest.MonkeyPatch) -> None:
    """Create, and again once a first attempt can no longer be at work."""
    answer = create(api)
    if answer.status == 409 and answer.code == "request_in_progress":
        assert int(answer.headers["Retry-After"]) <= 30
        later(31, patch)
        answer = create(api)
    if answer.status == 409 and answer.json["error"]["details"] == {"reason": "consumer_exists"}:
        # Its queue is the half-made one's until the reconciler comes by.
        later(61, patch)
        reconcile({}, Context(240))
        answer = create(api)
    assert answer.status == 201 or answer.code == "already_exists", answer.text


# Either the same is asked again, or the reconciler finds what is left. After one call is before the next, so both try
# each place.


@CREATE
def test_a_create_that_dies_leaves_one_service_or_none(
    create: Callable[[Api], Answer], subtests: pytest.Subtests
) -> None:
    for at, when in places(create, lambda api: api, account):
        with subtests.test(at=at, when=when), account() as api, pytest.MonkeyPatch.context() as patch:
            with dying(at, when), pytest.raises(Died):
                create(api)
            if when == "before":
                until_it_is_there(api, create, patch)
            assert_tidy(api, patch, 1 if when == "before" else None)


@CREATE
def test_two_creates_at_once_make_one_service(create: Callable[[Api], Answer], subtests: pytest.Subtests) -> None:
    for at, _ in places(create, lambda api: api, account)[::2]:
        with subtests.test(at=at), account() as api, pytest.MonkeyPatch.context() as patch:
            answers: list[Answer] = []
            with meanwhile(at, lambda: answers.append(create(api))):  # noqa: B023  # called here
                answers.append(create(api))
            assert sorted(answer.status for answer in answers) == [201, 409]
            assert_tidy(api, patch, 1)


def with_service(api: Api) -> Api:
    """The same client, which has a service now."""
    assert create_for_queue(api).status == 201
    return api


def test_a_destroy_that_dies_leaves_the_service_or_nothing(subtests: pytest.Subtests) -> None:
    for at, when in places(destroy, with_service, account):
        with subtests.test(at=at, when=when), account() as api, pytest.MonkeyPatch.context() as patch:
            with_service(api)
            with dying(at, when), pytest.raises(Died):
                destroy(api)
            if when == "before" and api("GET", "/v1/compute").json["services"]:
                assert destroy(api).status == 204
            assert_tidy(api, patch, 0 if when == "before" else None)


def test_two_destroys_at_once_leave_nothing(subtests: pytest.Subtests) -> None:
    def other(api: Api) -> None:
        for service in api("GET", "/v1/compute").json["services"]:
            assert api("DELETE", f"/v1/compute/{service['id']}").status in (204, 404)

    asking = 4  # calls, before what is to be destroyed is known
    for at, _ in places(destroy, with_service, account)[2 * asking :: 2]:
        with subtests.test(at=at), account() as api, pytest.MonkeyPatch.context() as patch:
            with_service(api)
            with meanwhile(at, lambda: other(api)):
                assert destroy(api).status in (204, 404)
            assert_tidy(api, patch, 0)


def test_a_stale_reservation_is_taken_over_and_destroyed() -> None:
    with account() as api, pytest.MonkeyPatch.context() as patch:
        with dying(6, "after"), pytest.raises(Died):
            create_alone(api)
        assert create_alone(api).code == "request_in_progress"
        assert reconcile({}, Context(240)) == [], "it may still be in progress"
        later(31, patch)
        assert create_alone(api).status == 201
        assert_tidy(api, patch, 1)


def assert_tidy(api: Api, patch: pytest.MonkeyPatch, number: int | None) -> None:
    """After the reconciler: so many services (None is one at most), each whole, and nothing else anywhere."""
    later(62, patch)
    planned = reconcile({"dry_run": True}, Context(240))
    done = [{**action, "outcome": action["outcome"].removeprefix("would be ")} for action in planned]
    assert [action for action in reconcile({}, Context(240)) if action["outcome"] != "looked at"] == done
    assert reconcile({}, Context(240)) == []
    listed = api("GET", "/v1/compute").json["services"]
    assert len(listed) == number or (number is None and len(listed) <= 1)
    hexes = [service["id"].replace("-", "") for service in listed]
    assert [name[-32:] for name in services()] == hexes
    assert [name[-34:-2] for name in task_definitions()] == hexes
    assert [name.split("/")[-2] for name in parameters()] == [service["id"] for service in listed]
    assert counted(api.user, "service") == (len(listed), len(listed))
    records = stored()
    left = [record["sk"]["S"] for record in records if "due" in record]
    assert left == ["QUEUE" for service in listed if service["queue_id"]], "a scaled queue is looked at for ever"
    kept = [record["id"]["S"] for record in records if record["sk"]["S"] == "SERVICE"]
    assert kept == [service["id"] for service in listed]
    made = [key for key in api("GET", "/v1/auth/keys").json["keys"] if key["name"] == "service:worker"]
    assert [key["revoked"] for key in made] == [False] * len(listed)
    assert len([record for record in records if record["pk"]["S"].startswith("KEY#")]) == 1 + len(listed)
    place = ("QUEUE#" + queue_of(api), "QUEUE")
    consumer = table.read([place])[place].get("consumer")
    served = [service["id"] for service in listed if service["queue_id"]]
    assert ([consumer["service_id"]] if consumer else []) == served
    for service in listed:
        assert api("POST", f"/v1/compute/{service['id']}/start").status == 200
    if not listed:
        assert create_for_queue(api).status == 201, "the name or the queue is not free"
