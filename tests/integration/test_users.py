"""Users are made, listed, changed and deleted."""

import time
from typing import Any

import pytest

from tenancy.names import new_id
from tests.integration.conftest import Api, Calls, aws_fault, destroy_user
from tests.integration.leftovers import stored, traces

DETAILS = {"external_id": "customer-17", "email": "ada@example.com", "label": "Ada & Söhne"}


def test_a_user_needs_no_details(api: Api) -> None:
    answer = api("POST", "/v1/users", {})
    assert answer.status == 201
    user = answer.json
    assert user == {
        "id": user["id"],
        "external_id": None,
        "email": None,
        "label": None,
        "status": "active",
        "is_default": False,
        "created_at": user["created_at"],
    }
    assert user["created_at"].endswith("Z")
    assert api("POST", "/v1/users").json["id"] != user["id"]


def test_a_user_is_shown_with_what_is_said_of_it(api: Api) -> None:
    user = api("POST", "/v1/users", DETAILS).json
    assert user | DETAILS == user
    assert api("GET", f"/v1/users/{user['id']}").json == user
    assert user in api("GET", "/v1/users").json["users"]


@pytest.mark.parametrize("name", ["default", "me"])
def test_default_and_me_are_the_companys_default_user_or_the_one_of_the_key(api: Api, name: str) -> None:
    answer = api("GET", f"/v1/users/{name}")
    assert (answer.status, answer.json["id"], answer.json["is_default"]) == (200, api.user, True)
    user = api.new_user(label="sealed")
    assert api.new_key(user)("GET", f"/v1/users/{name}").json["label"] == "sealed"
    assert api("GET", f"/v1/users/{name}", headers={"x-naive-user-id": user}).json["label"] == "sealed"
    assert api("PATCH", f"/v1/users/{name}", {"label": "changed"}).json["id"] == api.user
    refused = api("DELETE", f"/v1/users/{name}")
    assert (refused.status, refused.json["error"]["details"]) == (409, {"reason": "default_user"})


BAD_DETAILS = [
    ({"external_id": ""}, "external_id must be a string of 1 to 200 characters, none of them a control character"),
    ({"external_id": "x" * 201}, "external_id must be a string of 1 to 200 characters"),
    ({"external_id": "a\nb"}, "external_id must be a string of 1 to 200 characters"),
    ({"external_id": "ab\n"}, "external_id must be a string of 1 to 200 characters"),
    ({"external_id": "a\x7fb"}, "external_id must be a string of 1 to 200 characters"),
    ({"external_id": "\ud800"}, "external_id must be a string of 1 to 200 characters"),
    ({"external_id": 17}, "external_id must be a string of 1 to 200 characters"),
    ({"email": "ada"}, "email must be an e-mail address"),
    ({"email": "a@b@c"}, "email must be an e-mail address"),
    ({"email": "a b@c"}, "email must be an e-mail address"),
    ({"email": "@c"}, "email must be an e-mail address"),
    ({"email": "a@" + "c" * 253}, "email must be an e-mail address of at most 254 characters"),
    ({"email": ["ada@example.com"]}, "email must be an e-mail address"),
    ({"label": ""}, "label must be a string of 1 to 200 characters"),
    ({"label": "x" * 201}, "label must be a string of 1 to 200 characters"),
    ({"label": "\x00"}, "label must be a string of 1 to 200 characters"),
    ({"label": True}, "label must be a string of 1 to 200 characters"),
    ({"label": {"en": "Ada"}}, "label must be a string of 1 to 200 characters"),
    ({"status": "deleted"}, "unknown field 'status'; known: external_id, email, label"),
    ({"id": new_id()}, "unknown field 'id'"),
    ({"is_default": True}, "unknown field 'is_default'"),
]


@pytest.mark.parametrize(("details", "says"), BAD_DETAILS)
def test_bad_details_are_refused_by_field_and_rule(api: Api, details: Any, says: str) -> None:
    user = api.new_user()
    for answer in api("POST", "/v1/users", details), api("PATCH", f"/v1/users/{user}", details):
        assert (answer.status, answer.code) == (400, "invalid_input")
        assert says in answer.json["error"]["message"]
    assert len(api("GET", "/v1/users").json["users"]) == 2


@pytest.mark.parametrize("text", ["😀" * 200, "a", " ", "EXTERNAL#x", "é", "é", "~" * 200, '"', "\\"])
def test_an_external_id_is_any_short_text_and_no_other_one(api: Api, text: str) -> None:
    user = api.new_user(external_id=text, label=text)
    assert api("GET", f"/v1/users/{user}").json["external_id"] == text
    again = api("POST", "/v1/users", {"external_id": text})
    assert (again.status, again.code, again.json["error"]["details"]) == (409, "already_exists", {"id": user})
    assert api("POST", "/v1/users", {"external_id": "another" if len(text) > 190 else text + " "}).status == 201


def test_external_ids_are_each_companys_own(api: Api, stranger: Api) -> None:
    assert api.new_user(external_id="same") != stranger.new_user(external_id="same")


def test_an_external_id_is_free_again_after_a_change_and_after_a_deletion(api: Api) -> None:
    first = api.new_user(external_id="a")
    assert api("PATCH", f"/v1/users/{first}", {"external_id": "b"}).json["external_id"] == "b"
    second = api.new_user(external_id="a")
    refused = api("PATCH", f"/v1/users/{second}", {"external_id": "b"})
    assert (refused.status, refused.json["error"]["details"]) == (409, {"id": first})
    assert api("DELETE", f"/v1/users/{first}").status == 204
    assert api("PATCH", f"/v1/users/{second}", {"external_id": "b"}).status == 200
    assert api.new_user(external_id="a") not in (first, second)
    assert external_ids() == {"a", "b"}


def test_an_external_id_that_is_given_again_is_no_change(api: Api) -> None:
    user = api.new_user(**DETAILS)
    answer = api("PATCH", f"/v1/users/{user}", {"external_id": DETAILS["external_id"], "label": "new"})
    assert (answer.status, answer.json["label"], answer.json["email"]) == (200, "new", DETAILS["email"])
    assert external_ids() == {DETAILS["external_id"]}


def test_a_change_is_of_what_is_given_alone_and_seen_at_once(api: Api) -> None:
    user = api.new_user(label="before")
    changed = api("PATCH", f"/v1/users/{user}", {"email": "ada@example.com", "label": None}).json
    assert (changed["email"], changed["label"], changed["external_id"]) == ("ada@example.com", "before", None)
    assert api("GET", f"/v1/users/{user}").json == changed
    assert changed in api("GET", "/v1/users").json["users"]


@pytest.mark.parametrize("body", [None, {}, {"label": None}])
def test_a_change_of_nothing_is_refused(api: Api, body: Any) -> None:
    answer = api("PATCH", f"/v1/users/{api.user}", body)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert answer.json["error"]["message"] == "give at least one of external_id, email, label"


def test_two_users_that_take_an_external_id_at_once_do_not_both_get_it(api: Api, calls: Calls) -> None:
    first, second = api.new_user(external_id="first"), api.new_user()
    calls.fail("TransactWriteItems", lambda: api("PATCH", f"/v1/users/{first}", {"external_id": "wanted"}))
    refused = api("PATCH", f"/v1/users/{second}", {"external_id": "wanted"})
    assert (refused.status, refused.json["error"]["details"]) == (409, {"id": first})
    assert external_ids() == {"wanted"}


def test_the_same_change_twice_at_once_is_one_change(api: Api, calls: Calls) -> None:
    user = api.new_user(external_id="before")
    calls.fail("TransactWriteItems", lambda: api("PATCH", f"/v1/users/{user}", {"external_id": "wanted"}))
    assert api("PATCH", f"/v1/users/{user}", {"external_id": "wanted"}).status == 200
    assert external_ids() == {"wanted"}


@pytest.mark.parametrize("before", [None, "before"])
def test_an_external_id_that_a_user_gets_while_it_is_deleted_is_free_again(
    api: Api, calls: Calls, before: str | None
) -> None:
    user = api.new_user(external_id=before)
    calls.fail("TransactWriteItems", lambda: api("PATCH", f"/v1/users/{user}", {"external_id": "wanted"}))
    assert api("DELETE", f"/v1/users/{user}").status == 204
    assert external_ids() == set()
    assert api.new_user(external_id="wanted") != user


def test_a_user_that_is_deleted_while_it_is_changed_is_not_found(api: Api, calls: Calls) -> None:
    user = api.new_user(external_id="before")
    calls.fail("TransactWriteItems", lambda: api("DELETE", f"/v1/users/{user}"))
    assert api("PATCH", f"/v1/users/{user}", {"external_id": "after"}).status == 404
    assert external_ids() == set()


def external_ids() -> set[str]:
    """The external ids that are held."""
    places = [item["sk"]["S"] for item in stored()]
    return {place.removeprefix("EXTERNAL#") for place in places if place.startswith("EXTERNAL#")}


def test_lists_go_by_id_and_page_by_cursor(api: Api) -> None:
    ids = sorted([api.user, *(api.new_user() for _ in range(6))])
    seen: list[list[str]] = []
    cursor: dict[str, Any] = {}
    while len(seen) < 10:
        page = api("GET", "/v1/users", limit=3, **cursor).json
        seen.append([user["id"] for user in page["users"]])
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == [ids[:3], ids[3:6], ids[6:]]
    assert [user["id"] for user in api("GET", "/v1/users").json["users"]] == ids


def test_a_page_that_ends_the_list_has_no_cursor(api: Api) -> None:
    api.new_user()
    assert api("GET", "/v1/users", limit=2).json["next_cursor"] is None


def test_a_list_goes_on_behind_a_user_that_was_deleted_meanwhile(api: Api) -> None:
    ids = sorted([api.user, *(api.new_user() for _ in range(4))])
    last = 1 if ids[1] != api.user else 2  # the default user stays
    cursor = api("GET", "/v1/users", limit=last + 1).json["next_cursor"]
    assert api("DELETE", f"/v1/users/{ids[last]}").status == 204
    page = api("GET", "/v1/users", cursor=cursor).json
    assert [user["id"] for user in page["users"]] == ids[last + 1 :]


@pytest.mark.parametrize("destroyed", [False, True])
def test_a_list_leaves_out_a_user_that_is_deleted_while_it_is_read(api: Api, calls: Calls, destroyed: bool) -> None:
    user = api.new_user()

    def delete() -> None:
        assert api("DELETE", f"/v1/users/{user}").status == 204
        if destroyed:
            destroy_user(user)

    calls.fail("BatchGetItem", None, delete)  # after the key was read, before the users are
    assert [listed["id"] for listed in api("GET", "/v1/users").json["users"]] == [api.user]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"limit": 0}, "limit must be a whole number from 1 to 100, not 0"),
        ({"limit": 101}, "limit must be a whole number from 1 to 100, not 101"),
        ({"cursor": "garbled"}, "cursor must be the next_cursor"),
        ({"email": "x"}, "unknown field 'email'; known: limit, cursor, external_id"),
    ],
)
def test_a_bad_query_is_refused(api: Api, query: Any, says: str) -> None:
    answer = api("GET", "/v1/users", **query)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert says in answer.json["error"]["message"]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"force": "yes"}, "force must be true or false"),
        ({"force": "True"}, "force must be true or false"),
        ({"force": 1}, "force must be true or false"),
        ({"force": ""}, "force must be true or false"),
        ({"cascade": "true"}, "unknown field 'cascade'; known: force"),
    ],
)
def test_a_deletion_with_a_bad_query_deletes_nothing(api: Api, query: Any, says: str) -> None:
    user = api.new_user()
    answer = api("DELETE", f"/v1/users/{user}", **query)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert says in answer.json["error"]["message"]
    assert api("GET", f"/v1/users/{user}").status == 200


@pytest.mark.parametrize("query", [{}, {"force": "false"}, {"force": "true"}])
def test_the_default_user_cannot_be_deleted(api: Api, query: Any) -> None:
    answer = api("DELETE", f"/v1/users/{api.user}", **query)
    assert (answer.status, answer.code) == (409, "conflict")
    assert answer.json["error"]["details"] == {"reason": "default_user"}
    assert api.queue()


def test_a_user_with_queues_is_deleted_only_with_force(api: Api) -> None:
    client = api.new_key(api.new_user())
    queue = client.queue()
    queries: list[Any] = [{}, {"force": "false"}]
    for query in queries:
        answer = api("DELETE", f"/v1/users/{client.user}", **query)
        assert (answer.status, answer.code) == (409, "conflict")
        assert answer.json["error"]["details"] == {"reason": "user_has_resources"}
        assert "force=true" in answer.json["error"]["hint"]
    client.send(queue)
    assert client("DELETE", f"/v1/queue/{queue}").status == 204
    assert api("DELETE", f"/v1/users/{client.user}").status == 204


@pytest.mark.parametrize("force", [False, True])
def test_a_queue_that_is_made_while_its_user_is_deleted_without_force_keeps_it(
    api: Api, calls: Calls, force: bool
) -> None:
    client = api.new_key(api.new_user())
    calls.fail("TransactWriteItems", client.queue)
    answer = api("DELETE", f"/v1/users/{client.user}", force=str(force).lower())
    assert answer.status == (204 if force else 409)
    assert client("GET", "/v1/queue").status == (401 if force else 200)


def test_a_deleted_user_is_gone_at_once_before_anything_of_it_is_destroyed(api: Api) -> None:
    user = api.new_user(**DETAILS)
    queue = api.new_key(user).queue()
    answer = api("DELETE", f"/v1/users/{user}", force="true")
    assert (answer.status, answer.text) == (204, "")
    for method, body in ("GET", None), ("PATCH", {"label": "x"}), ("DELETE", None):
        assert api(method, f"/v1/users/{user}", body).code == "not_found"
    assert [listed["id"] for listed in api("GET", "/v1/users").json["users"]] == [api.user]
    assert api("POST", "/v1/users", DETAILS).status == 201
    for path in "queue", f"queue/{queue}":
        assert api("GET", f"/v1/users/{user}/{path}").code == "not_found"
    assert api("POST", "/v1/auth/keys", {"name": "k", "active_tenant_user_id": user}).code == "not_found"


def test_nothing_can_be_made_for_a_deleted_user_by_what_was_granted_before(api: Api) -> None:
    user = api.new_user()
    path = f"/v1/users/{user}/queue"
    assert api("POST", path, {"name": "a"}).status == 201
    assert api("DELETE", f"/v1/users/{user}", force="true").status == 204
    assert api("POST", path, {"name": "b"}).code == "not_found"
    destroy_user(user)
    assert api("POST", path, {"name": "c"}).code == "not_found"
    assert traces(user) == []


def test_a_name_is_not_taken_over_for_a_user_that_is_deleted_at_that_moment(
    api: Api, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = api.new_key(api.new_user())
    calls.fail("CreateQueue", aws_fault("InternalError", 500))
    assert client("POST", "/v1/queue", {"name": "jobs"}).status == 503
    later = time.time() + 31
    monkeypatch.setattr(time, "time", lambda: later)
    # The first try finds the name taken, the second is to take it over.
    calls.fail("TransactWriteItems", None, lambda: api("DELETE", f"/v1/users/{client.user}", force="true"))
    assert client("POST", "/v1/queue", {"name": "jobs"}).code == "not_found"
    destroy_user(client.user)
    assert traces(client.user) == []


def test_a_user_is_found_by_its_external_id(api: Api, stranger: Api) -> None:
    wanted = api("POST", "/v1/users", {"external_id": "4711"}).json
    stranger("POST", "/v1/users", {"external_id": "4712"})
    found = api("GET", "/v1/users", external_id="4711").json
    assert found == {"users": [wanted], "next_cursor": None}
    assert api("GET", "/v1/users", external_id="4712").json["users"] == []
    assert api("GET", "/v1/users", external_id="4711", cursor="x").status == 400
    assert api("DELETE", f"/v1/users/{wanted['id']}").status == 204
    assert api("GET", "/v1/users", external_id="4711").json["users"] == []


def test_a_header_does_not_say_who_is_deleted(api: Api) -> None:
    victim = api("POST", "/v1/users", {}).json["id"]
    for nobody in ("me", "default"):
        answer = api("DELETE", f"/v1/users/{nobody}", headers={"x-naive-user-id": victim}, force="true")
        assert (answer.status, answer.code) == (400, "invalid_input")
    assert api("GET", f"/v1/users/{victim}").status == 200
