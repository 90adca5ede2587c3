"""What another tenant was given or has chosen is worth nothing: handles, cursors, keys of requests, ids and names."""

import re
from typing import Any

import pytest

from tests.integration.conftest import Answer, Api


@pytest.fixture(params=["stranger", "sibling"])
def other(request: pytest.FixtureRequest, api: Api) -> Api:
    """A client of a user in another company, or of another user in the same one."""
    if request.param == "sibling":
        return api.new_key(api.new_user(label="canary"))
    stranger: Api = request.getfixturevalue("stranger")
    return stranger.new_key(stranger.new_user(label="canary"))


@pytest.fixture
def own(api: Api) -> Api:
    """A client of a user."""
    return api.new_key(api.new_user())


def in_flight(client: Api, queue: str) -> tuple[int, int]:
    """How many messages are ready, and how many leased."""
    counts = client("GET", f"/v1/queue/{queue}/attributes").json
    return counts["depth"], counts["in_flight"]


@pytest.mark.parametrize("settings", [{}, {"type": "fifo"}])
def test_a_receipt_handle_of_another_tenants_message_settles_nothing(own: Api, other: Api, settings: Any) -> None:
    mine, theirs = own.queue("jobs", **settings), other.queue("jobs", **settings)
    group = {"group_id": "g"} if settings else {}
    for client, queue in (own, mine), (other, theirs):
        client.send(queue, **group)
    (message,) = other.receive(theirs)
    handle = message["receipt_handle"]
    path = f"/v1/queue/{mine}/messages"
    for answer in (
        own("DELETE", path, receipt_handle=handle),
        own("PATCH", path, {"receipt_handle": handle, "visibility": 0}),
    ):
        assert (answer.status, answer.code) == (400, "receipt_invalid")
    retry, extend = [{"receipt_handle": handle}], [{"receipt_handle": handle, "visibility": 0}]
    settled = own("POST", f"{path}/settle", {"ack": [handle], "retry": retry, "extend": extend}).json
    assert [settled[what][0]["error"]["code"] for what in ("ack", "retry", "extend")] == ["receipt_invalid"] * 3
    assert (in_flight(own, mine), in_flight(other, theirs)) == ((1, 0), (0, 1))
    assert other("DELETE", f"/v1/queue/{theirs}/messages", receipt_handle=handle).status == 204
    assert (in_flight(own, mine), in_flight(other, theirs)) == ((1, 0), (0, 0))


def test_a_cursor_of_another_users_queues_is_refused(own: Api, other: Api) -> None:
    for client in own, other:
        for name in "ab":
            client.queue(name)
    cursor = other("GET", "/v1/queue", limit=1).json["next_cursor"]
    assert other("GET", "/v1/queue", cursor=cursor).status == 200
    refused(own("GET", "/v1/queue", cursor=cursor))


@pytest.mark.parametrize("path", ["/v1/users", "/v1/auth/keys"])
def test_a_cursor_of_another_companys_list_is_refused(api: Api, stranger: Api, path: str) -> None:
    for client in api, stranger:
        client.new_key(client.new_user())
    cursor = stranger("GET", path, limit=1).json["next_cursor"]
    assert stranger("GET", path, cursor=cursor).status == 200
    refused(api("GET", path, cursor=cursor))


@pytest.mark.usefixtures("cluster")
def test_a_cursor_of_another_users_services_is_refused(own: Api, other: Api) -> None:
    for client in own, other:
        for name in "ab":
            client.service(name)
    cursor = other("GET", "/v1/compute", limit=1).json["next_cursor"]
    assert other("GET", "/v1/compute", cursor=cursor).status == 200
    refused(own("GET", "/v1/compute", cursor=cursor))


@pytest.mark.usefixtures("cluster")
def test_a_cursor_of_one_list_is_refused_by_the_others(api: Api) -> None:
    api.new_key(api.new_user())
    for name in "ab":
        api.queue(name)
        api.service(name)
    lists = ["/v1/queue", "/v1/compute", "/v1/users", "/v1/auth/keys"]
    cursors = {path: api("GET", path, limit=1).json["next_cursor"] for path in lists}
    for path in lists:
        for source, cursor in cursors.items():
            answer = api("GET", path, cursor=cursor)
            assert answer.status == 200 if source == path else refused(answer)


def refused(answer: Answer) -> bool:
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert "cursor must be the next_cursor of an earlier answer" in answer.json["error"]["message"]
    return True


@pytest.mark.parametrize(
    ("path", "body"),
    [("/v1/queue", {"name": "jobs"}), ("/v1/users", {"external_id": "4711"}), ("/v1/auth/keys", {"name": "deploy"})],
)
def test_the_same_idempotency_key_of_two_companies_is_two_requests(
    api: Api, stranger: Api, path: str, body: Any
) -> None:
    answers = [client("POST", path, body, headers={"idempotency-key": "same"}) for client in (api, stranger) * 2]
    assert {answer.status for answer in answers} == {201}
    mine, theirs, mine_again, theirs_again = (
        {name: value for name, value in answer.json.items() if name != "api_key"} for answer in answers
    )
    assert (mine, theirs) == (mine_again, theirs_again)
    assert mine.keys() == theirs.keys()
    assert [mine[name] != theirs[name] for name in mine if name in ("id", "key_id")] == [True]


def test_the_same_idempotency_key_for_two_users_is_two_requests(api: Api) -> None:
    users = [api.new_user(), api.new_user()]
    made = [
        api("POST", "/v1/queue", {"name": "jobs"}, headers={"idempotency-key": "same", "x-naive-user-id": user}).json
        for user in users
    ]
    assert [queue["user_id"] for queue in made] == users


def test_the_same_dedup_id_on_two_tenants_queues_is_two_messages(own: Api, other: Api) -> None:
    for client in own, other:
        queue = client.queue("orders", type="fifo")
        for _ in range(2):
            client.send(queue, client.user, group_id="g", dedup_id="same")
        assert [message["body"] for message in client.receive(queue, max=10)] == [client.user]


def test_a_dead_letter_of_another_tenant_is_not_found(own: Api, other: Api) -> None:
    queues = {}
    for client in own, other:
        queue = queues[client.user] = client.queue("jobs", dlq=True, max_receive_count=1)
        client.send(queue)
        client.receive(queue, visibility=0)
        assert client.receive(queue) == []
    (letter,) = other("GET", f"/v1/queue/{queues[other.user]}/dlq/messages").json["messages"]
    body = {"message_ids": [letter["message_id"]]}
    moved = own("POST", f"/v1/queue/{queues[own.user]}/redrive", body).json
    assert (moved["moved"], moved["remaining"]) == (0, 1)
    assert [*moved["not_found"], *moved["not_reached"]] == body["message_ids"]
    assert other("GET", f"/v1/queue/{queues[other.user]}/attributes").json["dlq_depth"] == 1


def test_a_name_of_another_tenants_queue_is_free_and_finds_nothing(own: Api, other: Api) -> None:
    theirs = other.queue("jobs")
    assert own("GET", "/v1/queue", name="jobs").json == {"queues": [], "next_cursor": None}
    assert own.queue("jobs") != theirs
    assert other("GET", "/v1/queue", name="jobs").json["queues"][0]["id"] == theirs


def test_an_external_id_of_another_companys_user_is_free(api: Api, stranger: Api) -> None:
    assert stranger.new_user(external_id="same") != api.new_user(external_id="same")
    assert [user["external_id"] for user in api("GET", "/v1/users").json["users"]].count("same") == 1


def test_messages_of_another_tenant_count_nowhere(own: Api, other: Api) -> None:
    mine, theirs = own.queue(), other.queue()
    other.send(theirs)
    other.leased(theirs, 1)
    other.send(theirs)
    assert in_flight(own, mine) == (0, 0)
    assert own.receive(mine, max=10) == []


def test_nothing_of_a_stranger_is_in_what_a_company_reads(api: Api, stranger: Api) -> None:
    mine, theirs = (
        (client, client.new_key(client.new_user(label=canary), name=canary), canary)
        for client, canary in ((api, "mine"), (stranger, "canary"))
    )
    read = {}
    for client, sealed, name in mine, theirs:
        queue = sealed.queue(name)
        reader = client.new_key(name=name)
        paths = ["/v1/users", "/v1/auth/keys", f"/v1/users/{sealed.user}", f"/v1/users/{sealed.user}/queue"]
        answers = [reader("GET", path) for path in [*paths, f"/v1/users/{sealed.user}/queue/{queue}"]]
        assert all(name in answer.text for answer in answers)
        read[name] = "".join(answer.text + repr(answer.headers) for answer in answers)
    ids = {name: set(re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", text)) for name, text in read.items()}
    assert "canary" not in read["mine"]
    assert ids["mine"] & ids["canary"] == set()


def test_nothing_of_a_sibling_is_in_what_a_sealed_key_reads(api: Api) -> None:
    sibling, own = (api.new_key(api.new_user(label=label)) for label in ("canary", "mine"))
    queue = own.queue("mine")
    canaries = {"canary", sibling.user, sibling.queue("canary"), api.user, api.queue("canary-2")}
    paths = ["/v1/users/me", "/v1/queue", f"/v1/queue/{queue}", f"/v1/users/{own.user}/queue"]
    for path in paths:
        answer = own("GET", path)
        assert answer.status == 200
        assert [canary for canary in canaries if canary in answer.text + repr(answer.headers)] == []
