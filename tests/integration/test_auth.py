"""Who is calling, for whom, and whose queue it is."""

from hashlib import sha256
from typing import Any

import pytest

from tenancy import table
from tenancy.names import new_id
from tests.integration.conftest import Answer, Api, Calls, forget_grants
from tests.template import routes

MESSAGE = "the bearer key is missing, malformed, unknown or revoked"


def add_user(company: str) -> str:
    """A second user of a company."""
    user = new_id()
    table.transact(
        [table.put({"pk": "USER#" + user, "sk": "USER", "id": user, "company": company, "status": "active"})]
    )
    return user


def change_key(api: Api, change: str, value: object) -> None:
    """Change the record of the client's key."""
    record = ("KEY#" + sha256(api.key.encode()).hexdigest(), "KEY")
    table.update(record, f"SET {change} = :value", condition="attribute_exists(pk)", values={"value": value})


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Basic dXNlcjpwYXNz",
        "Bearer nv_sk_live_short",
        "Bearer nv_sk_live_" + "A" * 43,
        "Bearer nv_sk_live_" + "A" * 44,
        "Bearer nv_sk_test_" + "A" * 43,
        "nv_sk_live_" + "A" * 43,
        "Bearer nv_sk_live_" + "é" * 43,
        "Bearer  nv_sk_live_" + "A" * 43,
    ],
)
def test_a_request_without_a_good_key_is_unauthorized(api: Api, authorization: str | None) -> None:
    api.queue()
    api.key = "none"
    headers = {"authorization": authorization} if authorization is not None else {}
    answer = api("GET", "/v1/queue", headers=headers)
    assert (answer.status, answer.code) == (401, "unauthorized")
    assert answer.json["error"]["message"] == MESSAGE
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_revoked_key_gets_the_same_answer(api: Api) -> None:
    change_key(api, "revoked", True)
    answer = api("GET", "/v1/queue")
    assert (answer.status, answer.code, answer.json["error"]["message"]) == (401, "unauthorized", MESSAGE)


def test_the_scheme_is_not_case_sensitive(api: Api) -> None:
    assert api("GET", "/v1/queue", headers={"authorization": f"bearer {api.key}"}).status == 200


def test_a_revocation_is_seen_within_five_seconds(api: Api) -> None:
    queue = api.queue()
    api.send(queue)
    change_key(api, "revoked", True)
    assert api("POST", f"/v1/queue/{queue}/messages", {"body": "x"}).status == 201
    assert api("GET", f"/v1/queue/{queue}").status == 401
    forget_grants()
    assert api("POST", f"/v1/queue/{queue}/messages", {"body": "x"}).status == 401


def test_a_destroyed_queue_is_not_found_within_five_seconds_and_a_send_to_it_never_succeeds(api: Api) -> None:
    queue = api.queue()
    api.send(queue)
    api("DELETE", f"/v1/queue/{queue}")
    answer = api("POST", f"/v1/queue/{queue}/messages", {"body": "x"})
    assert (answer.status, answer.code) == (404, "not_found")
    assert answer.json["error"]["message"] == api("GET", f"/v1/queue/{queue}").json["error"]["message"]


NOBODY = (None, "default", "me")


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("header", [*NOBODY, "own", "sibling", "foreign", "missing", "malformed"])
@pytest.mark.parametrize("path", [*NOBODY, "own", "sibling", "foreign", "missing", "malformed"])
def test_the_subject_is_the_keys_the_paths_the_headers_or_the_default_user(
    api: Api, stranger: Api, sealed: bool, path: str | None, header: str | None
) -> None:
    own, sibling = add_user(api.company), add_user(api.company)
    people = {
        "own": own,
        "sibling": sibling,
        "foreign": stranger.user,
        "missing": new_id(),
        "malformed": own.upper(),
    }
    if sealed:
        change_key(api, "sealed_user", own)
    mount = "/v1/queue" if path is None else f"/v1/users/{people.get(path, path)}/queue"
    headers = {} if header is None else {"x-naive-user-id": people.get(header, header)}
    answer = api("POST", mount, {"name": "jobs"}, headers=headers)

    named = [name for name in (path, header) if name not in NOBODY]
    if sealed and any(name != "own" for name in named):
        assert (answer.status, answer.code) == (403, "key_subject_mismatch")
    elif not sealed and named and named[0] not in ("own", "sibling"):
        assert (answer.status, answer.code) == (404, "not_found")
    else:
        expected = own if sealed else people[named[0]] if named else api.user
        assert (answer.status, answer.json["user_id"]) == (201, expected)


def every_operation() -> list[tuple[str, str]]:
    """Method and path of every route that names a queue, on the first mount."""
    return [(method, path) for method, path in routes() if "{id}" in path and "user_id" not in path]


@pytest.mark.parametrize(("method", "path"), every_operation())
def test_a_queue_that_is_not_yours_is_like_one_that_is_not_there(
    api: Api, stranger: Api, calls: Calls, method: str, path: str
) -> None:
    sibling = add_user(api.company)
    foreign = stranger.queue("theirs", dlq=True)
    siblings = api("POST", f"/v1/users/{sibling}/queue", {"name": "siblings", "dlq": True}).json["id"]
    deleted = api.queue("deleted")
    api("DELETE", f"/v1/queue/{deleted}")
    stranger.send(foreign)
    before: list[Any] = [stranger("GET", f"/v1/queue/{foreign}").json]

    def ask(queue: str) -> tuple[Answer, int]:
        made = len(calls.made)
        body: Any = {} if method in ("POST", "PATCH") else None
        query: Any = {"receipt_handle": "x"} if method == "DELETE" and path.endswith("messages") else {}
        answer = api(method, path.replace("{id}", queue), body, **query)
        return answer, len(calls.made) - made

    ids = {"foreign": foreign, "sibling": siblings, "random": new_id(), "deleted": deleted, "malformed": "x"}
    answers = {name: ask(queue) for name, queue in ids.items()}
    texts = {answer.text.replace(answer.headers["X-Request-Id"], "") for answer, _ in answers.values()}
    assert {answer.status for answer, _ in answers.values()} == {404}
    assert len(texts) == 1
    assert {made for _, made in answers.values()} == {1}
    assert [stranger("GET", f"/v1/queue/{foreign}").json] == before


def test_a_header_that_looks_like_what_was_granted_is_none(api: Api) -> None:
    user = add_user(api.company)
    queue = api("POST", f"/v1/users/{user}/queue", {"name": "jobs"}).json["id"]
    path = f"queue/{queue}/attributes"
    assert api("GET", f"/v1/users/{user}/{path}", headers={"x-naive-user-id": "zzz"}).status == 200
    assert api("GET", f"/v1/{path}", headers={"x-naive-user-id": f"{user}/zzz"}).status == 404


def test_what_its_owner_just_used_is_no_nearer_to_a_stranger(api: Api, stranger: Api, calls: Calls) -> None:
    queue = api.queue()
    api.send(queue)
    before = len(calls.made)
    assert stranger("POST", f"/v1/queue/{queue}/messages", {"body": "x"}).status == 404
    assert calls.names()[before:] == ["BatchGetItem"]


def test_both_mounts_route_every_operation_to_the_same_function() -> None:
    for (method, path), folder in routes().items():
        if path.startswith("/v1/queue"):
            assert routes()[method, path.replace("/v1/", "/v1/users/{user_id}/")] == folder
