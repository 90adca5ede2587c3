"""Keys are shown once, listed without giving them away, and revoked for good."""

import re
import time
from hashlib import sha256
from typing import Any

import boto3
import pytest

from tests.integration.conftest import Answer, Api, Calls, aws_fault, destroy_user, forget_grants
from tests.integration.leftovers import stored
from tests.template import routes

PREFIX = "nv_sk_live_"
TABLES = ("registry", "idempotency", "usage")


def make(api: Api, name: str = "deploy", user: str | None = None, **headers: str) -> Answer:
    fields = {"name": name} if user is None else {"name": name, "active_tenant_user_id": user}
    return api("POST", "/v1/auth/keys", fields, headers=headers)


def client_of(api: Api, answer: Answer) -> Api:
    """A client with the key that was just made."""
    assert answer.status == 201, answer.text
    return Api(api.company, answer.json["active_tenant_user_id"] or api.user, answer.json["api_key"])


def listed(api: Api) -> dict[str, Any]:
    """The company's keys by name, its first one apart."""
    answer = api("GET", "/v1/auth/keys", limit=100)
    assert answer.status == 200, answer.text
    return {key["name"]: key for key in answer.json["keys"] if key["name"] != "bootstrap"}


def of_the_company() -> list[tuple[str, str]]:
    """Every operation on users and keys."""
    return [route for route in routes() if re.match("/v1/(users|auth)(?!.*/(queue|compute))", route[1])]


def test_a_key_is_shown_once_and_listed_by_its_last_four(api: Api) -> None:
    made = make(api).json
    assert list(made) == ["api_key", "key_id", "name", "last_4", "active_tenant_user_id", "created_at"]
    assert (made["name"], made["last_4"], made["active_tenant_user_id"]) == ("deploy", made["api_key"][-4:], None)
    answer = api("GET", "/v1/auth/keys")
    del made["api_key"]
    assert listed(api) == {"deploy": made | {"last_used_at": None, "revoked": False}}
    assert "nv_sk" not in answer.text


def test_a_key_is_256_bits_that_are_never_the_same(api: Api) -> None:
    keys = {make(api).json["api_key"] for _ in range(20)}
    assert len(keys) == 20
    assert all(key.startswith(PREFIX) and len(key) == len(PREFIX) + 43 for key in keys)


def test_no_table_holds_any_part_of_a_key(api: Api) -> None:
    user = api.new_user()
    clients = [
        api,
        client_of(api, make(api, **{"idempotency-key": "k1"})),
        client_of(api, make(api, user=user, **{"idempotency-key": "k2"})),
    ]
    for client in clients:
        assert client("GET", "/v1/users/me").status == 200
    make(api, **{"idempotency-key": "k1"})
    tables = repr([boto3.client("dynamodb").scan(TableName=name)["Items"] for name in TABLES])
    for client in clients:
        secret = client.key.removeprefix(PREFIX)
        assert sha256(client.key.encode()).hexdigest() in tables
        assert [run for run in runs(secret) if run in tables] == []


def runs(secret: str, length: int = 8) -> list[str]:
    return [secret[start : start + length] for start in range(len(secret) - length + 1)]


def test_a_search_for_runs_would_find_a_key() -> None:
    assert runs("abcdefghij") == ["abcdefgh", "bcdefghi", "cdefghij"]


def test_a_repeat_is_answered_without_the_key_and_makes_none(api: Api) -> None:
    first, again = (make(api, **{"idempotency-key": "k"}) for _ in range(2))
    assert (again.status, again.json) == (201, first.json | {"api_key": None})
    assert list(again.json) == list(first.json)
    assert list(listed(api)) == ["deploy"]
    assert client_of(api, first)("GET", "/v1/users/me").status == 200


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "name is required: a string of 1 to 100 characters, none of them a control character"),
        ({"name": ""}, "name must be a string of 1 to 100 characters"),
        ({"name": "x" * 101}, "name must be a string of 1 to 100 characters"),
        ({"name": "a\tb"}, "name must be a string of 1 to 100 characters"),
        ({"name": "a\n"}, "name must be a string of 1 to 100 characters"),
        ({"name": "\udc00"}, "name must be a string of 1 to 100 characters"),
        ({"name": 7}, "name must be a string of 1 to 100 characters, none of them a control character, not 7"),
        ({"name": "k", "active_tenant_user_id": 7}, "active_tenant_user_id must be the id of a user of this company"),
        ({"name": "k", "active_tenant_user_id": ["x"]}, "active_tenant_user_id must be the id of a user"),
        ({"name": "k", "api_key": "mine"}, "unknown field 'api_key'; known: name, active_tenant_user_id"),
        ({"name": "k", "user_id": "x"}, "unknown field 'user_id'"),
    ],
)
def test_a_bad_key_is_refused_by_field_and_rule(api: Api, body: Any, says: str) -> None:
    answer = api("POST", "/v1/auth/keys", body)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert says in answer.json["error"]["message"]
    assert listed(api) == {}


@pytest.mark.parametrize("name", ["😀" * 100, "a", " ", "deploy key (CI), été"])
def test_a_name_is_any_short_text_and_need_not_be_unique(api: Api, name: str) -> None:
    assert make(api, name).json["key_id"] != make(api, name).json["key_id"]
    assert list(listed(api)) == [name]


UNKNOWN = "0b7a4c1e-5f5d-4c3a-9a86-3f0f9d2c7e11"


@pytest.mark.parametrize("user", ["", "me", "default", "x", UNKNOWN, UNKNOWN.upper()])
def test_a_key_cannot_be_sealed_to_nobody(api: Api, user: str) -> None:
    answer = make(api, user=user)
    assert (answer.status, answer.code) == (404, "not_found")
    assert listed(api) == {}


def test_a_key_cannot_be_sealed_to_a_user_that_is_deleted_meanwhile(api: Api, calls: Calls) -> None:
    user = api.new_user()
    calls.fail("TransactWriteItems", lambda: api("DELETE", f"/v1/users/{user}"))
    assert make(api, user=user).status == 404
    destroy_user(user)
    assert listed(api) == {}


def test_the_default_user_can_have_a_sealed_key(api: Api) -> None:
    client = client_of(api, make(api, user=api.user))
    assert client("GET", "/v1/users/me").json["is_default"] is True
    assert client("GET", "/v1/users").code == "forbidden"


def test_the_keys_that_bootstrap_made_are_listed_and_revoked_like_any(api: Api) -> None:
    (first,) = api("GET", "/v1/auth/keys").json["keys"]
    assert (first["name"], first["last_4"], first["active_tenant_user_id"]) == ("bootstrap", api.key[-4:], None)
    assert api("DELETE", f"/v1/auth/keys/{first['key_id']}").status == 204
    assert api("GET", "/v1/auth/keys").status == 401


def test_lists_go_by_id_and_page_by_cursor(api: Api) -> None:
    ids = sorted(make(api).json["key_id"] for _ in range(4))
    ids = sorted(
        [*ids, *(key["key_id"] for key in api("GET", "/v1/auth/keys").json["keys"] if key["name"] != "deploy")]
    )
    first = api("GET", "/v1/auth/keys", limit=2).json
    second = api("GET", "/v1/auth/keys", limit=2, cursor=first["next_cursor"]).json
    third = api("GET", "/v1/auth/keys", limit=2, cursor=second["next_cursor"]).json
    pages = [[key["key_id"] for key in page["keys"]] for page in (first, second, third)]
    assert pages == [ids[:2], ids[2:4], ids[4:]]
    assert third["next_cursor"] is None


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"limit": 0}, "limit must be a whole number from 1 to 100, not 0"),
        ({"cursor": "garbled"}, "cursor must be the next_cursor"),
        ({"revoked": "true"}, "unknown field 'revoked'; known: limit, cursor"),
    ],
)
def test_a_bad_query_is_refused(api: Api, query: Any, says: str) -> None:
    answer = api("GET", "/v1/auth/keys", **query)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert says in answer.json["error"]["message"]


def test_a_revoked_key_is_worth_nothing_and_is_still_listed(api: Api) -> None:
    made = make(api)
    client, key_id = client_of(api, made), made.json["key_id"]
    queue = client.queue()
    client.send(queue)
    answer = api("DELETE", f"/v1/auth/keys/{key_id}")
    assert (answer.status, answer.text) == (204, "")
    assert listed(api)["deploy"]["revoked"] is True
    for method, path in ("GET", f"/v1/queue/{queue}"), ("GET", "/v1/users"), ("DELETE", f"/v1/queue/{queue}"):
        assert client(method, path).code == "unauthorized"
    forget_grants()
    assert client("POST", f"/v1/queue/{queue}/messages", {"body": "x"}).code == "unauthorized"
    assert api("GET", f"/v1/queue/{queue}").status == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *[route for route in of_the_company() if route != ("POST", "/v1/users")],
        *[(method, "/v1/queue/{id}") for method in ("GET", "PATCH", "DELETE")],
        ("GET", "/v1/queue"),
        ("POST", "/v1/queue/{id}/purge"),
        ("POST", "/v1/queue/{id}/dlq/purge"),
        *[(method, "/v1/compute/{service_id}") for method in ("GET", "DELETE")],
        *[("POST", f"/v1/compute/{{service_id}}/{what}") for what in ("start", "stop", "scale")],
        *[(method, "/v1/compute") for method in ("GET", "POST")],
    ],
)
@pytest.mark.usefixtures("cluster")
def test_what_a_revoked_key_may_not_do_for_a_moment_longer(api: Api, method: str, path: str) -> None:
    made = make(api)
    client = client_of(api, made)
    ids = {"user_id": api.user, "key_id": made.json["key_id"], "id": api.queue(), "service_id": api.service()}
    path = path.format(**ids)
    assert client(method, path, unknown=1).status == 400, "the key was good a moment ago"
    assert api("DELETE", f"/v1/auth/keys/{made.json['key_id']}").status == 204
    assert client(method, path).code == "unauthorized"


def test_a_key_is_revoked_once(api: Api, calls: Calls) -> None:
    key_id = make(api).json["key_id"]
    path = f"/v1/auth/keys/{key_id}"
    calls.fail("TransactWriteItems", lambda: api("DELETE", path))
    assert api("DELETE", path).code == "not_found"
    assert api("DELETE", path).code == "not_found"
    assert listed(api)["deploy"]["revoked"] is True


def test_a_revocation_that_failed_revoked_nothing(api: Api, calls: Calls) -> None:
    made = make(api)
    calls.fail("TransactWriteItems", aws_fault("InternalServerError", 500))
    assert api("DELETE", f"/v1/auth/keys/{made.json['key_id']}").status == 503
    assert client_of(api, made)("GET", "/v1/users/me").status == 200
    assert listed(api)["deploy"]["revoked"] is False


def test_a_key_may_revoke_itself(api: Api) -> None:
    made = make(api)
    client = client_of(api, made)
    assert client("DELETE", f"/v1/auth/keys/{made.json['key_id']}").status == 204
    assert client("DELETE", f"/v1/auth/keys/{made.json['key_id']}").status == 401


@pytest.mark.parametrize(("method", "path"), of_the_company())
def test_a_sealed_key_reads_its_own_user_and_nothing_else_of_the_company(api: Api, method: str, path: str) -> None:
    sealed = api.new_key(api.new_user(label="mine"))
    key_id = make(api).json["key_id"]
    before = stored()
    for user in sealed.user, "me", "default":
        for body in {}, {"name": "k", "label": "changed"}:
            answer = sealed(
                method, path.format(user_id=user, key_id=key_id), body if method in ("POST", "PATCH") else None
            )
            if (method, path) == ("GET", "/v1/users/{user_id}"):
                assert (answer.status, answer.json["label"]) == (200, "mine")
            else:
                assert (answer.status, answer.code) == (403, "forbidden")
    assert stored() == before


def test_a_sealed_key_repeats_no_request_of_another_one(api: Api) -> None:
    user = api.new_user()
    make(api, user=user, **{"idempotency-key": "k"})
    assert make(api.new_key(user), user=user, **{"idempotency-key": "k"}).code == "forbidden"


def test_a_key_was_last_used_on_the_day_that_fair_use_noted(api: Api, calls: Calls) -> None:
    ids = [make(api, name).json["key_id"] for name in ("never", "noted", "used")]
    for key_id, noted in zip(ids[1:], ({}, {"last_used_on": {"S": "2026-11-30"}}), strict=True):
        boto3.client("dynamodb").put_item(TableName="usage", Item={"id": {"S": key_id}, **noted})
    days = {name: key["last_used_at"] for name, key in listed(api).items()}
    assert days == {"never": None, "noted": None, "used": "2026-11-30T00:00:00Z"}
    calls.fail("BatchGetItem", None, {"Responses": {}, "UnprocessedKeys": {"usage": {}}})
    assert api("GET", "/v1/auth/keys").status == 503


def test_a_key_that_was_just_used_was_last_used_today(api: Api) -> None:
    client = client_of(api, make(api))
    before = time.time()
    assert client("GET", "/v1/users/me").status == 200
    days = {time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime(moment)) for moment in (before, time.time())}
    assert listed(api)["deploy"]["last_used_at"] in days
