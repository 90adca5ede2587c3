"""Every row of the contract's tables of queues and messages, over HTTP, on the deployed stack."""

import concurrent.futures
import time
from typing import Any

import httpx
import pytest

from tests.e2e.conftest import Api, unique
from tests.e2e.deployed import environment, operator
from tests.template import routes

MEBIBYTE = 1024 * 1024


@pytest.fixture(scope="module")
def user_id(api: Api) -> str:
    """The company's default user."""
    return str(api("GET", f"/v1/queue/{api.queue()}").json()["user_id"])


@pytest.fixture(params=["/v1/queue", "/v1/users/{user_id}/queue", "/v1/users/me/queue"])
def mount(request: pytest.FixtureRequest, user_id: str) -> str:
    """Where the queues are: the same under each."""
    return str(request.param).format(user_id=user_id)


def test_the_deployed_routes_are_the_templates(api: Api) -> None:
    gateway = operator("apigatewayv2")
    api_id = environment("NAIVE_BASE_URL").rpartition("/")[2]
    pages = gateway.get_paginator("get_routes").paginate(ApiId=api_id)
    keys = [route["RouteKey"] for page in pages for route in page["Items"]]
    expected = {"$default" if route == ("*", "*") else " ".join(route) for route in routes()}
    assert sorted(keys) == sorted(expected)


def test_a_queue_lives_from_create_to_destroy(api: Api, mount: str, user_id: str) -> None:
    name = unique()
    made = api("POST", mount, {"name": name, "dlq": True, "visibility_timeout": 5})
    assert made.status_code == 201
    queue = made.json()
    assert queue == {
        "id": queue["id"],
        "name": name,
        "type": "standard",
        "user_id": user_id,
        "dlq": True,
        "max_receive_count": 5,
        "visibility_timeout": 5,
        "retention_seconds": 345_600,
        "delay_seconds": 0,
        "content_based_dedup": None,
        "consumer": None,
        "created_at": queue["created_at"],
    }
    path = f"{mount}/{queue['id']}"
    counts = {"depth": 0, "in_flight": 0, "delayed": 0, "dlq_depth": 0}
    assert api("GET", path).json() == queue | {"attributes": counts}
    assert api("GET", mount, name=name).json() == {"queues": [queue], "next_cursor": None}
    again = api("POST", mount, {"name": name})
    assert (again.status_code, again.json()["error"]["details"]) == (409, {"id": queue["id"]})

    changed = api("PATCH", path, {"visibility_timeout": 6, "max_receive_count": 2})
    assert changed.json() == queue | {"visibility_timeout": 6, "max_receive_count": 2}
    assert api("GET", f"{path}/attributes").json() == counts

    purged = api("POST", f"{path}/purge")
    assert (purged.status_code, purged.json()["status"]) == (202, "purging")
    soon = api("POST", f"{path}/purge")
    assert (soon.status_code, soon.json()["error"]["code"]) == (409, "purge_in_progress")
    assert 1 <= int(soon.headers["Retry-After"]) <= 60

    assert api("DELETE", path).status_code == 204
    assert api("GET", path).status_code == 404
    assert api("POST", mount, {"name": name}).status_code == 201


def test_a_message_lives_from_send_to_ack(api: Api, mount: str) -> None:
    path = f"{mount}/{api.queue()}/messages"
    sent = api("POST", path, {"body": "hello", "attributes": {"k": "v"}, "group_id": "u1"})
    assert (sent.status_code, set(sent.json())) == (201, {"message_id"})
    (message,) = api("GET", path, max=10, wait=5, visibility=60).json()["messages"]
    assert message == {
        "message_id": sent.json()["message_id"],
        "body": "hello",
        "receipt_handle": message["receipt_handle"],
        "receive_count": 1,
        "sent_at": message["sent_at"],
        "lease_expires_at": message["lease_expires_at"],
        "group_id": "u1",
        "attributes": {"k": "v"},
    }
    handle = message["receipt_handle"]
    assert set(api("PATCH", path, {"receipt_handle": handle, "visibility": 90}).json()) == {"lease_expires_at"}
    for _ in range(2):
        acked = api("DELETE", path, receipt_handle=handle)
        assert (acked.status_code, acked.content) == (204, b"")
    late = api("PATCH", path, {"receipt_handle": handle, "visibility": 9})
    assert (late.status_code, late.json()["error"]["code"]) == (400, "receipt_expired")


def test_many_messages_are_sent_and_settled_in_one_call_each(api: Api, mount: str) -> None:
    path = f"{mount}/{api.queue()}/messages"
    answer = api("POST", f"{path}/batch", {"messages": [*({"body": str(n)} for n in range(12)), {"body": ""}]})
    assert answer.status_code == 200
    assert ["message_id" in result for result in answer.json()["results"]] == [True] * 12 + [False]
    handles: list[str] = []
    while len(handles) < 12:
        handles += [m["receipt_handle"] for m in api("GET", path, max=10, wait=5).json()["messages"]]
    settled = api(
        "POST",
        f"{path}/settle",
        {
            "ack": [*handles[:10], "garbled"],
            "retry": [{"receipt_handle": handles[10]}],
            "extend": [{"receipt_handle": handles[11], "visibility": 60}],
        },
    )
    assert settled.status_code == 200
    assert [entry.get("ok") for entry in settled.json()["ack"]] == [True] * 10 + [None]
    assert settled.json()["retry"] == [{"ok": True}]
    assert set(settled.json()["extend"][0]) == {"ok", "lease_expires_at"}
    again = api("POST", f"{path}/settle", {"ack": handles[:10]}).json()
    assert again["ack"] == [{"ok": True}] * 10


def test_dead_letters_are_seen_moved_and_purged(api: Api, mount: str) -> None:
    queue = api.queue(dlq=True, max_receive_count=2)
    path = f"{mount}/{queue}"
    sent = api.send(queue, "poison", attributes={"k": "é"})
    counts = [message["receive_count"] for _ in range(4) for message in api.receive(queue, visibility=0)]
    assert counts == [1, 2]
    for _ in range(2):
        (letter,) = api("GET", f"{path}/dlq/messages").json()["messages"]
        assert (letter["message_id"], letter["body"]) == (sent["message_id"], "poison")
        assert "receipt_handle" not in letter
    moved = api("POST", f"{path}/redrive", {"message_ids": [sent["message_id"], "unknown"]})
    assert moved.status_code == 200
    assert moved.json() == {"moved": 1, "remaining": 0, "not_found": ["unknown"], "not_reached": []}
    (message,) = api.receive(queue, wait=5)
    assert (message["body"], message["attributes"], message["receive_count"]) == ("poison", {"k": "é"}, 1)
    assert message["message_id"] != sent["message_id"]
    assert api("POST", f"{path}/dlq/purge").status_code == 202
    assert api("POST", f"{path}/dlq/purge").json()["error"]["code"] == "purge_in_progress"
    assert api("POST", f"{path}/purge").status_code == 202


@pytest.mark.parametrize(
    "body",
    [
        "emoji 😀 👩‍👩‍👧",
        "line\r\nline\rline\n",
        "cGFy",
        '{"a":1}',
        " \t ",
        "\u0085\u2028\ufeff\x7f\ufffd\U0010ffff",
        "<&>\"'\\",
        "[[[[{{{",
    ],
)  # fmt: skip
def test_a_body_comes_back_byte_for_byte(api: Api, body: str) -> None:
    queue = api.queue()
    api.send(queue, body)
    assert [message["body"] for message in api.receive(queue, wait=5)] == [body]


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/x-www-form-urlencoded", None])
def test_the_content_type_does_not_matter(api: Api, content_type: str | None) -> None:
    queue = api.queue()
    headers = {"Content-Type": content_type} if content_type else {}
    body = '{"body": "é 😀"}'.encode()
    answer = api.http.post(f"/v1/queue/{queue}/messages", content=body, headers=headers)
    assert answer.status_code == 201, answer.text
    assert [message["body"] for message in api.receive(queue, wait=5)] == ["é 😀"]


def test_what_sqs_cannot_hold_is_refused_with_its_place(api: Api) -> None:
    path = f"/v1/queue/{api.queue()}/messages"
    for raw, index, code_point in ((r'"ab\uffff"', 2, "U+FFFF"), (r'"\ud83d\ude00\ud800"', 1, "U+D800")):
        answer = api.http.post(path, content=f'{{"body": {raw}}}')
        details = answer.json()["error"]["details"]
        assert (answer.status_code, details["index"], details["code_point"]) == (400, index, code_point)


def test_a_mebibyte_passes_in_bytes_and_not_one_more(api: Api) -> None:
    queue = api.queue()
    whole = '"' * (MEBIBYTE - 4) + "😀"
    api.send(queue, whole)
    (message,) = api.receive(queue, max=10, wait=5)
    assert message["body"] == whole
    answer = api("POST", f"/v1/queue/{queue}/messages", {"body": whole + "x"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "payload_too_large")


def test_a_receive_leaves_nothing_leased_that_it_did_not_return(api: Api) -> None:
    queue = api.queue()
    for _ in range(3):
        api.send(queue, '"' * MEBIBYTE)
    returned = api.receive(queue, max=10, wait=5)
    assert len(returned) == 1
    counts = api.counts(queue)
    assert (counts["depth"], counts["in_flight"]) == (2, 1)


@pytest.mark.parametrize("settings", [{}, {"type": "fifo"}])
def test_a_poll_that_waits_for_the_first_large_messages_lets_none_die_undelivered(api: Api, settings: Any) -> None:
    queue = api.queue(dlq=True, max_receive_count=1, **settings)
    returned: list[str] = []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waiting = pool.submit(api.receive, queue, wait=20, max=10)
        time.sleep(0.5)
        sends = [
            pool.submit(api.send, queue, str(n) + '"' * (MEBIBYTE - 1), **({"group_id": str(n)} if settings else {}))
            for n in range(4)
        ]
        returned += [message["body"][0] for message in waiting.result()]
        assert all(send.result() for send in sends)
    while messages := api.receive(queue, wait=2, max=10):
        returned += [message["body"][0] for message in messages]
    assert sorted(returned) == list("0123")
    assert api.counts(queue)["dlq_depth"] == 0


def test_a_long_poll_waits_and_wakes(api: Api) -> None:
    queue = api.queue()
    api.receive(queue, wait=0)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        started = time.monotonic()
        empty = pool.submit(api.receive, api.queue(), wait=20)
        waiting = pool.submit(api.receive, queue, wait=20)
        time.sleep(3)
        api.send(queue, "late")
        assert [message["body"] for message in waiting.result()] == ["late"]
        assert time.monotonic() - started < 15
        assert empty.result() == []
        assert 19 < time.monotonic() - started < 27


def test_a_lease_ends_and_the_message_comes_back(api: Api) -> None:
    queue = api.queue(visibility_timeout=2)
    api.send(queue)
    (first,) = api.receive(queue, wait=5)
    (second,) = api.receive(queue, wait=10)
    assert (second["message_id"], second["receive_count"]) == (first["message_id"], 2)
    api.ack(queue, second["receipt_handle"])


def test_a_delayed_message_comes_later(api: Api) -> None:
    queue = api.queue()
    api.send(queue, "late", delay_seconds=3)
    api.send(queue, "now")
    assert [message["body"] for message in api.receive(queue, max=10)] == ["now"]
    assert api.counts(queue)["delayed"] == 1
    assert [message["body"] for message in api.receive(queue, max=10, wait=10)] == ["late"]


def test_fifo_keeps_order_and_locks_a_group(api: Api) -> None:
    queue = api.queue(type="fifo")
    for number in range(10):
        sent = api.send(queue, str(number), group_id="g1")
        assert sent["sequence_number"]
    first = api.receive(queue, max=5, wait=5)
    assert [message["body"] for message in first] == list("01234")
    assert api.receive(queue, max=5) == []
    api.send(queue, "other", group_id="g2")
    assert [message["body"] for message in api.receive(queue, max=5, wait=5)] == ["other"]
    for message in first:
        api.ack(queue, message["receipt_handle"])
    assert [message["body"] for message in api.receive(queue, max=5, wait=5)] == list("56789")


def test_fifo_deduplicates_per_group_by_id_or_by_content(api: Api) -> None:
    queue = api.queue(type="fifo")
    first = api.send(queue, "a", group_id="g1", dedup_id="d")
    assert api.send(queue, "b", group_id="g1", dedup_id="d")["message_id"] == first["message_id"]
    api.send(queue, "c", group_id="g2", dedup_id="d")
    api.send(queue, "same", group_id="g3")
    api.send(queue, "same", group_id="g3")
    bodies: list[str] = []
    while messages := api.receive(queue, max=10, wait=1):
        for message in messages:
            bodies.append(message["body"])
            api.ack(queue, message["receipt_handle"])
    assert sorted(bodies) == ["a", "c", "same"]
    api.send(queue, "b", group_id="g1", dedup_id="d")
    assert api.receive(queue, wait=1) == [], "the window lasts five minutes, acknowledged or not"


def test_a_fifo_redrive_is_delivered_inside_the_window_in_order(api: Api) -> None:
    queue = api.queue(type="fifo", dlq=True, max_receive_count=1)
    for number in range(3):
        api.send(queue, str(number), group_id="g", dedup_id=f"d{number}")
    while api.receive(queue, max=10, visibility=0):
        pass
    letters = api("GET", f"/v1/queue/{queue}/dlq/messages").json()["messages"]
    assert [(letter["body"], letter["group_id"]) for letter in letters] == [("0", "g"), ("1", "g"), ("2", "g")]
    moved = api("POST", f"/v1/queue/{queue}/redrive").json()
    assert (moved["moved"], moved["remaining"]) == (3, 0)
    received = api.receive(queue, max=10, wait=5)
    assert [(message["body"], message["group_id"]) for message in received] == [("0", "g"), ("1", "g"), ("2", "g")]


@pytest.mark.parametrize(
    ("method", "path", "body", "query", "says"),
    [
        ("POST", "", {"name": "a b"}, {}, "name must be a string of 1 to 64 characters"),
        ("GET", "", None, {"limit": "x"}, "limit must be a whole number from 1 to 100"),
        ("GET", "/{id}/messages", None, {"wait": 21}, "wait must be a whole number from 0 to 20, not 21"),
        ("GET", "/{id}/messages", None, {"wait": -1}, "wait must be a whole number from 0 to 20, not -1"),
        ("POST", "/{id}/messages", {"body": 1}, {}, "body must be a string of at least 1 byte"),
        ("POST", "/{id}/messages", {"body": "x", "delay_seconds": "5"}, {}, "from 0 to 900"),
        ("PATCH", "/{id}", {"visibility_timeout": 43_201}, {}, "from 0 to 43200, not 43201"),
        ("DELETE", "/{id}/messages", None, {}, "receipt_handle is required"),
        ("POST", "/{id}/redrive", {"max": 1001}, {}, "from 1 to 1000, not 1001"),
        ("POST", "/{id}/purge", {"now": True}, {}, "unknown field 'now'"),
    ],
)
def test_bad_input_is_a_400_that_names_field_and_range(
    api: Api, method: str, path: str, body: Any, query: Any, says: str
) -> None:
    queue = api.queue(dlq=True)
    answer = api(method, f"/v1/queue{path}".format(id=queue), body, **query)
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["code"] == "invalid_input"
    assert says in error["message"]
    assert error["request_id"] == answer.headers["X-Request-Id"]


def test_strangers_get_401_and_unknown_routes_404(api: Api) -> None:
    for key in ("", "Bearer nv_sk_live_" + "A" * 43):
        answer = httpx.get(environment("NAIVE_BASE_URL") + "/v1/queue", headers={"Authorization": key})
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")
    for method, path in (("PUT", "/v1/queue"), ("GET", "/nothing"), ("GET", "/")):
        answer = httpx.request(method, environment("NAIVE_BASE_URL") + path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
        assert answer.headers["Cache-Control"] == "no-store"
    assert httpx.get(environment("NAIVE_BASE_URL") + "/health").json() == {"status": "ok"}


def test_another_company_finds_nothing(api: Api, stranger: Api) -> None:
    queue = api.queue()
    api.send(queue)
    missing = api("GET", "/v1/queue/3f6f3b9e-8a53-4a39-9d0c-3f1c6f6f7a10").json()["error"]
    for answer in (stranger("GET", f"/v1/queue/{queue}"), stranger("GET", f"/v1/queue/{queue}/messages")):
        error = answer.json()["error"]
        assert answer.status_code == 404
        assert {**error, "request_id": ""} == {**missing, "request_id": ""}
    (message,) = api.receive(queue, wait=5)
    other = stranger.queue()
    answer = stranger("DELETE", f"/v1/queue/{other}/messages", receipt_handle=message["receipt_handle"])
    assert answer.json()["error"]["code"] == "receipt_invalid"
    assert stranger("GET", "/v1/queue", name="nothing").json()["queues"] == []


def test_a_queue_in_sqs_is_locked_to_its_tenant(api: Api) -> None:
    queue = api.queue()
    sqs = operator("sqs")
    (url,) = [url for url in sqs.list_queues(QueueNamePrefix="nv-")["QueueUrls"] if queue.replace("-", "") in url]
    policy = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])["Attributes"]["Policy"]
    assert "ArnNotLike" in policy
    with pytest.raises(sqs.exceptions.ClientError, match="AccessDenied"):
        sqs.send_message(QueueUrl=url, MessageBody="from the account's own administrator")
