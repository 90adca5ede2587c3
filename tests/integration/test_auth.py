"""Who is calling, for whom, and what is seen of a change of that."""

from hashlib import sha256
from typing import Any

import pytest

from tenancy import table
from tenancy.names import new_id
from tests.integration.conftest import Answer, Api, Calls, destroy_user, forget_grants
from tests.openapi import document
from tests.template import routes

MESSAGE = "the bearer key is missing, malformed, unknown or revoked"

# Whom a request acts for, by what its path names (down) and what its header names (across). A path wins over a header,
# `default` and `me` name nobody, and a sealed key is its user whoever else is named.
SUBJECTS = """
                  absent  default me      own     sibling foreign missing malformed deleted

open   absent     company company company own     sibling 404     404     404       404
open   default    company company company own     sibling 404     404     404       404
open   me         company company company own     sibling 404     404     404       404
open   own        own     own     own     own     own     own     own     own       own
open   sibling    sibling sibling sibling sibling sibling sibling sibling sibling   sibling
open   foreign    404     404     404     404     404     404     404     404       404
open   missing    404     404     404     404     404     404     404     404       404
open   malformed  404     404     404     404     404     404     404     404       404
open   deleted    404     404     404     404     404     404     404     404       404

sealed absent     own     own     own     own     403     403     403     403       403
sealed default    own     own     own     own     403     403     403     403       403
sealed me         own     own     own     own     403     403     403     403       403
sealed own        own     own     own     own     403     403     403     403       403
sealed sibling    403     403     403     403     403     403     403     403       403
sealed foreign    403     403     403     403     403     403     403     403       403
sealed missing    403     403     403     403     403     403     403     403       403
sealed malformed  403     403     403     403     403     403     403     403       403
sealed deleted    403     403     403     403     403     403     403     403       403
"""
HEADERS, *ROWS = (line.split() for line in SUBJECTS.splitlines() if line)
CODES = {"403": "key_subject_mismatch", "404": "not_found"}


class People:
    """A company, whoever its requests may name, and its keys."""

    def __init__(self, api: Api, stranger: Api) -> None:
        own, sibling, deleted = (api.new_user() for _ in range(3))
        self.ids = {
            "company": api.user,
            "own": own,
            "sibling": sibling,
            "foreign": stranger.user,
            "missing": new_id(),
            "malformed": own.upper(),
            "deleted": deleted,
        }
        self.clients = {"open": api, "sealed": api.new_key(own)}
        self.sealed_to_nobody = api.new_key(deleted)
        assert api("DELETE", f"/v1/users/{deleted}").status == 204

    def ask(self, client: Api, path: str, header: str, name: str = "jobs") -> Answer:
        """Make a queue as the user that path and header name."""
        mount = "/v1/queue" if path == "absent" else f"/v1/users/{self.ids.get(path, path)}/queue"
        headers = {} if header == "absent" else {"x-naive-user-id": self.ids.get(header, header)}
        return client("POST", mount, {"name": name}, headers=headers)


@pytest.fixture
def people(api: Api, stranger: Api) -> People:
    return People(api, stranger)


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


def test_the_table_of_subjects_is_whole() -> None:
    kinds = ["absent", "default", "me", "own", "sibling", "foreign", "missing", "malformed", "deleted"]
    assert kinds == HEADERS
    assert [row[:2] for row in ROWS] == [[key, path] for key in ("open", "sealed") for path in kinds]


@pytest.mark.parametrize(("key", "path", "expected"), [(key, path, expected) for key, path, *expected in ROWS])
def test_the_subject_is_as_the_table_says(
    people: People, key: str, path: str, expected: list[str], subtests: pytest.Subtests
) -> None:
    for header, whom in zip(HEADERS, expected, strict=True):
        with subtests.test(header=header):
            answer = people.ask(people.clients[key], path, header, name=f"header-{header}")
            if whom in CODES:
                assert (answer.status, answer.code) == (int(whom), CODES[whom])
            else:
                assert (answer.status, answer.json["user_id"]) == (201, people.ids[whom])


def test_an_empty_header_names_nobody_who_exists(api: Api) -> None:
    answer = api("POST", "/v1/queue", {"name": "jobs"}, headers={"x-naive-user-id": ""})
    assert (answer.status, answer.code) == (404, "not_found")
    assert api("GET", "/v1/queue").json["queues"] == []


def test_a_bad_key_is_unauthorized_whoever_is_named(people: People) -> None:
    revoked = people.clients["open"].new_key()
    change_key(revoked, "revoked", True)
    unknown = Api("", "", "nv_sk_live_" + "A" * 43)
    answers = [
        people.ask(client, path, header)
        for client in (revoked, unknown, people.sealed_to_nobody)
        for path in HEADERS
        for header in HEADERS
    ]
    assert {answer.status for answer in answers} == {401}
    assert len({without_request_id(answer) for answer in answers}) == 1


def with_key() -> list[tuple[str, str]]:
    """Every operation that needs a key."""
    described = document()["paths"].items()
    return [
        (method.upper(), path)
        for path, operations in described
        for method, operation in operations.items()
        if operation.get("security") != []
    ]


@pytest.mark.parametrize(("method", "path"), with_key())
def test_a_bad_key_is_unauthorized_before_anything_else_is_judged(
    api: Api, calls: Calls, method: str, path: str
) -> None:
    expected = without_request_id(Api("", "", "none")("GET", "/v1/queue"))
    for key, reads in ("none", []), ("nv_sk_live_" + "A" * 43, ["BatchGetItem"]):
        before = len(calls.made)
        api.key = key
        answer = api(method, path.replace("{", "").replace("}", ""), raw="{", headers={"x-naive-user-id": "x"}, y=1)
        assert (answer.status, without_request_id(answer)) == (401, expected)
        assert calls.names()[before:] == reads


def without_request_id(answer: Answer) -> tuple[str, Any]:
    """All of an answer that should not depend on what was asked."""
    own = answer.headers["X-Request-Id"]
    return answer.text.replace(own, ""), tuple(sorted((answer.headers | {"X-Request-Id": ""}).items()))


def test_a_header_that_looks_like_what_was_granted_is_none(api: Api) -> None:
    user = api.new_user()
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


def test_what_a_company_just_did_for_a_user_is_no_nearer_to_a_key_sealed_to_another(api: Api) -> None:
    own, sibling = api.new_user(), api.new_user()
    path = f"/v1/users/{sibling}/queue/{api.new_key(sibling).queue()}/messages"
    sealed = api.new_key(own)
    assert api("POST", path, {"body": "x"}).status == 201
    assert sealed("POST", path, {"body": "x"}).status == 403
    assert sealed("POST", path.replace(f"/users/{sibling}", ""), {"body": "x"}).status == 404


def test_a_key_sealed_to_a_deleted_user_is_seen_as_bad_within_five_seconds(api: Api) -> None:
    sealed = api.new_key(api.new_user())
    queue = sealed.queue()
    sealed.send(queue)
    assert api("DELETE", f"/v1/users/{sealed.user}", force="true").status == 204
    assert sealed("GET", "/v1/users/me").status == 401
    forget_grants()
    assert sealed("POST", f"/v1/queue/{queue}/messages", {"body": "x"}).status == 401
    destroy_user(sealed.user)
    assert sealed("GET", "/v1/users/me").status == 401


def test_both_mounts_route_every_operation_to_the_same_function() -> None:
    for (method, path), folder in routes().items():
        if path.startswith("/v1/queue"):
            assert routes()[method, path.replace("/v1/", "/v1/users/{user_id}/")] == folder
