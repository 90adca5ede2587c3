"""The company's users and keys in the SDK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import httpx
import pytest

from naive import AlreadyExistsError, InvalidInputError, Key, Naive, NewKey, NotFoundError, Queue, SecretLostError, User
from tests.unit.clients.fake_api import (
    BASE_URL,
    KEY,
    KEY_ID,
    QUEUE_ID,
    USER_ID,
    FakeApi,
    key_json,
    new_key_json,
    queue_json,
    user_json,
)


def test_users_and_keys_go_to_their_routes(api: FakeApi) -> None:
    api.answers_with(user_json(), status=201)
    api.answers_with({"users": [user_json()], "next_cursor": "c"})
    api.answers_with(user_json())
    api.answers_with(user_json(label="Ada"))
    api.answers_with(status=204)
    api.answers_with(status=204)
    api.answers_with(new_key_json(), status=201)
    api.answers_with({"keys": [key_json()], "next_cursor": None})
    api.answers_with(status=204)

    naive = api.client()
    naive.users.create(external_id="4711", email="ada@example.com")
    naive.users.list(limit=10, cursor="b")
    naive.users.get(USER_ID)
    naive.users.update(USER_ID, label="Ada")
    naive.users.delete(USER_ID)
    naive.users.delete(USER_ID, force=True)
    naive.keys.create("ci", active_tenant_user_id=USER_ID)
    naive.keys.list(limit=10)
    naive.keys.revoke(KEY_ID)

    assert [f"{r.method} {str(r.url).removeprefix(BASE_URL)}" for r in api.requests] == [
        "POST /v1/users",
        "GET /v1/users?limit=10&cursor=b",
        f"GET /v1/users/{USER_ID}",
        f"PATCH /v1/users/{USER_ID}",
        f"DELETE /v1/users/{USER_ID}",
        f"DELETE /v1/users/{USER_ID}?force=true",
        "POST /v1/auth/keys",
        "GET /v1/auth/keys?limit=10",
        f"DELETE /v1/auth/keys/{KEY_ID}",
    ]
    assert api.bodies() == [
        {"external_id": "4711", "email": "ada@example.com"},
        {"label": "Ada"},
        {"name": "ci", "active_tenant_user_id": USER_ID},
    ]


def test_a_user_may_be_made_without_a_word_about_it(api: FakeApi) -> None:
    api.answers_with(user_json(), status=201)
    assert api.client().users.create().external_id is None
    assert api.bodies() == [{}]


def test_creates_carry_an_idempotency_key_that_stays_the_same(api: FakeApi) -> None:
    for answer in (user_json(), new_key_json()):
        api.refuses_with("unavailable", 503)
        api.answers_with(answer, status=201)
    naive = api.client()
    naive.users.create()
    naive.keys.create("ci")
    keys = [request.headers["idempotency-key"] for request in api.requests]
    assert keys[0] == keys[1] != keys[2] == keys[3]


def test_a_new_key_is_there_once_and_in_no_print(api: FakeApi) -> None:
    api.answers_with(new_key_json(), status=201)
    made = api.client().keys.create("ci")
    assert (made.api_key, made.key_id, made.last_4) == (KEY, KEY_ID, KEY[-4:])
    assert KEY not in f"{made} {made!r}"


def test_a_key_whose_only_showing_was_lost_is_an_error_that_says_what_to_do(api: FakeApi) -> None:
    api.breaks_with(httpx.ReadTimeout("slow"))
    api.answers_with(new_key_json(api_key=None), status=201)
    with pytest.raises(SecretLostError) as lost:
        api.client().keys.create("ci")
    assert "'ci' was made" in lost.value.message
    assert lost.value.hint == f"Revoke the key {KEY_ID} and make another."
    assert (lost.value.code, lost.value.details) == ("secret_lost", {"key_id": KEY_ID})
    assert len(api.requests) == 2


DELETES: list[Callable[[Naive], None]] = [
    lambda naive: naive.users.delete(USER_ID),
    lambda naive: naive.users.delete(USER_ID, force=True),
    lambda naive: naive.keys.revoke(KEY_ID),
]


@pytest.mark.parametrize("delete", DELETES)
def test_a_delete_whose_first_answer_was_lost_is_done_when_the_thing_is_gone(
    api: FakeApi, delete: Callable[[Naive], None]
) -> None:
    api.breaks_with(httpx.ReadTimeout("slow"))
    api.refuses_with("not_found", 404)
    delete(api.client())
    api.refuses_with("not_found", 404)
    with pytest.raises(NotFoundError):
        delete(api.client())


def test_an_external_id_that_is_taken_names_who_has_it(api: FakeApi) -> None:
    api.refuses_with("already_exists", 409, details={"id": USER_ID})
    with pytest.raises(AlreadyExistsError) as taken:
        api.client().users.create(external_id="4711")
    assert taken.value.details == {"id": USER_ID}


def test_a_user_is_found_by_the_companys_own_id(api: FakeApi) -> None:
    api.answers_with({"users": [user_json(external_id="a&b")], "next_cursor": None})
    assert [user.id for user in api.client().users.list(external_id="a&b")] == [USER_ID]
    assert dict(api.requests[0].url.params) == {"external_id": "a&b"}


def test_a_thing_may_stand_for_its_id(api: FakeApi) -> None:
    made, user = NewKey.model_validate(new_key_json()), User.model_validate(user_json())
    calls: list[Callable[[Naive], object]] = [
        lambda naive: naive.users.get(user),
        lambda naive: naive.users.update(UUID(USER_ID), label="x"),
        lambda naive: naive.for_user(user).queue.get(Queue.model_validate(queue_json())),
        lambda naive: naive.for_user(UUID(USER_ID)).queue.get(UUID(QUEUE_ID)),
        lambda naive: naive.keys.create("x", active_tenant_user_id=user),
        lambda naive: naive.keys.revoke(made),
        lambda naive: naive.keys.revoke(Key.model_validate(key_json())),
        lambda naive: naive.keys.revoke(UUID(KEY_ID)),
    ]
    for answer in (user_json(), user_json(), queue_json(), queue_json(), new_key_json(), None, None, None):
        api.answers_with(answer)
    for call in calls:
        call(api.client())
    assert [str(r.url).removeprefix(f"{BASE_URL}/v1/") for r in api.requests] == [
        *[f"users/{USER_ID}"] * 2,
        *[f"users/{USER_ID}/queue/{QUEUE_ID}"] * 2,
        "auth/keys",
        *[f"auth/keys/{KEY_ID}"] * 3,
    ]
    assert api.bodies()[1] == {"name": "x", "active_tenant_user_id": USER_ID}


NAMING: list[tuple[str, Callable[[Naive, Any], object]]] = [
    ("user_id", lambda naive, given: naive.for_user(given)),
    ("user_id", lambda naive, given: naive.users.get(given)),
    ("user_id", lambda naive, given: naive.users.update(given, label="x")),
    ("user_id", lambda naive, given: naive.users.delete(given)),
    ("key_id", lambda naive, given: naive.keys.revoke(given)),
    ("queue", lambda naive, given: naive.queue.get(given)),
    ("queue", lambda naive, given: naive.queue.send(given, "x")),
    ("queue", lambda naive, given: naive.queue.consume(given, print)),
    ("receipt_handle", lambda naive, given: naive.queue.ack("q", given)),
    ("receipt_handle", lambda naive, given: naive.queue.retry("q", given)),
]


@pytest.mark.parametrize(("argument", "call"), NAMING)
@pytest.mark.parametrize(("given", "told"), [(None, "not None"), (4711, "of type int"), (b"x", "of type bytes")])
def test_what_names_nothing_is_an_error_before_anything_is_sent(
    api: FakeApi, argument: str, call: Callable[[Naive, Any], object], given: object, told: str
) -> None:
    with pytest.raises(InvalidInputError, match=f"^{argument} has to be .*{told}"):
        call(api.client(), given)
    assert api.requests == []


def test_a_thing_of_another_kind_is_not_taken_for_one(api: FakeApi) -> None:
    queue = Queue.model_validate(queue_json())
    with pytest.raises(InvalidInputError, match=r"active_tenant_user_id has to be .*User, not an object of type Queue"):
        api.client().keys.create("x", active_tenant_user_id=queue)  # type: ignore[arg-type]  # as a program without types


def test_a_key_for_nobody_is_the_companys(api: FakeApi) -> None:
    api.answers_with(new_key_json(), status=201)
    made = api.client().keys.create("x", active_tenant_user_id=None)
    assert api.bodies() == [{"name": "x"}]
    assert not hasattr(made, "last_used_at")
    assert not hasattr(made, "revoked")


def test_an_id_cannot_leave_its_place_in_the_path(api: FakeApi) -> None:
    api.answers_with(user_json())
    api.answers_with(status=204)
    api.client().users.get("a/../b")
    api.client().keys.revoke("../users")
    assert api.requests[0].url.raw_path.endswith(b"/v1/users/a%2F..%2Fb")
    assert api.requests[1].url.raw_path.endswith(b"/v1/auth/keys/..%2Fusers")


def test_what_is_listed_is_typed(api: FakeApi) -> None:
    api.answers_with({"users": [user_json(is_default=True, colour="green")], "next_cursor": "c"})
    api.answers_with({"keys": [key_json(last_used_at="2026-11-30T00:00:00Z", revoked=True)], "next_cursor": None})
    users, keys = api.client().users.list(), api.client().keys.list()
    assert (users.users[0].is_default, users.next_cursor) == (True, "c")
    assert users.users[0].model_extra == {"colour": "green"}
    (key,) = keys.keys
    assert key.last_used_at is not None
    assert (str(key.last_used_at.date()), key.revoked) == ("2026-11-30", True)
