"""What the SDK puts on the wire."""

from __future__ import annotations

import json

import pytest

from naive import ConfigurationError, InvalidInputError, Naive
from naive.calls.call import encode
from tests.unit.clients.fake_api import BASE_URL, KEY, QUEUE_ID, FakeApi, message_json, queue_json

SENT = {"message_id": "m-1"}


def test_the_first_session_of_the_documentation_runs_as_it_stands(api: FakeApi) -> None:
    api.answers_with(queue_json(), status=201)
    api.answers_with(queue_json(type="fifo", dlq=True, max_receive_count=5), status=201)
    api.answers_with(SENT, status=201)
    api.answers_with({"messages": [message_json()]})
    api.answers_with(status=204)
    api.answers_with({"queues": [queue_json()], "next_cursor": None})
    api.answers_with({"depth": 0, "in_flight": 0, "delayed": 0, "dlq_depth": None})
    api.answers_with({"status": "purging", "done_by": "2026-01-02T03:05:05Z"}, status=202)
    api.answers_with(status=204)

    naive = api.client()
    q = naive.queue.create("jobs")
    naive.queue.create(name="orders", type="fifo", dlq=True)
    naive.queue.send(q.id, json.dumps({"task": "resize", "url": "https://…"}))
    received = naive.queue.receive(q.id, max=10, wait=20)
    for m in received.messages:
        naive.queue.ack(q.id, m.receipt_handle)
    naive.queue.list()
    naive.queue.attributes(q.id)
    naive.queue.purge(q.id)
    naive.queue.destroy(q.id)

    seen = [f"{r.method} {str(r.url).removeprefix(BASE_URL).replace(QUEUE_ID, '{id}')}" for r in api.requests]
    assert seen == [
        "POST /v1/queue",
        "POST /v1/queue",
        "POST /v1/queue/{id}/messages",
        "GET /v1/queue/{id}/messages?max=10&wait=20",
        "DELETE /v1/queue/{id}/messages?receipt_handle=h-1",
        "GET /v1/queue",
        "GET /v1/queue/{id}/attributes",
        "POST /v1/queue/{id}/purge",
        "DELETE /v1/queue/{id}",
    ]


def test_the_other_calls_go_to_their_routes(api: FakeApi) -> None:
    api.answers_with(queue_json())
    api.answers_with(queue_json(visibility_timeout=60))
    api.answers_with({"results": [SENT]})
    api.answers_with({"lease_expires_at": "2026-01-02T03:04:35Z"})
    api.answers_with({"lease_expires_at": "2026-01-02T03:04:35Z"})
    api.answers_with({"ack": [{"ok": True}], "retry": [], "extend": []})
    api.answers_with({"messages": []})
    api.answers_with({"status": "purging", "done_by": "2026-01-02T03:05:05Z"}, status=202)
    api.answers_with({"moved": 1, "remaining": 0, "not_found": [], "not_reached": []})

    queue = api.client().queue
    queue.get("q")
    queue.update("q", visibility_timeout=60)
    queue.send_batch("q", [{"body": "a", "attributes": {"n": "1"}}])
    queue.retry("q", "h", delay_seconds=5)
    queue.extend("q", "h", 60)
    queue.settle("q", ack=["h"], retry=[{"receipt_handle": "i"}], extend=[{"receipt_handle": "j", "visibility": 9}])
    queue.peek_dlq("q", max=3)
    queue.purge_dlq("q")
    queue.redrive("q", message_ids=["m"])

    assert [f"{r.method} {str(r.url).removeprefix(BASE_URL)}" for r in api.requests] == [
        "GET /v1/queue/q",
        "PATCH /v1/queue/q",
        "POST /v1/queue/q/messages/batch",
        "PATCH /v1/queue/q/messages",
        "PATCH /v1/queue/q/messages",
        "POST /v1/queue/q/messages/settle",
        "GET /v1/queue/q/dlq/messages?max=3",
        "POST /v1/queue/q/dlq/purge",
        "POST /v1/queue/q/redrive",
    ]
    assert api.bodies() == [
        {"visibility_timeout": 60},
        {"messages": [{"body": "a", "attributes": {"n": "1"}}]},
        {"receipt_handle": "h", "visibility": 5},
        {"receipt_handle": "h", "visibility": 60},
        {
            "ack": ["h"],
            "retry": [{"receipt_handle": "i"}],
            "extend": [{"receipt_handle": "j", "visibility": 9}],
        },
        {"message_ids": ["m"]},
    ]


def test_what_the_caller_leaves_out_is_left_to_the_server(api: FakeApi) -> None:
    api.answers_with(queue_json(), status=201)
    api.client().queue.create("jobs", dlq=False, delay_seconds=0)
    assert api.bodies() == [{"name": "jobs", "dlq": False, "delay_seconds": 0}]


def test_every_request_carries_the_key_and_says_who_calls(api: FakeApi) -> None:
    api.answers_with(queue_json())
    api.client().queue.get("q")
    assert api.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert api.requests[0].headers["user-agent"].startswith("naive-queue-python/")


def test_a_user_is_named_in_the_path(api: FakeApi) -> None:
    api.answers_with(SENT, status=201)
    api.client().for_user("u-1").queue.send("q", "x")
    assert api.requests[0].url.path.endswith("/v1/users/u-1/queue/q/messages")


def test_an_id_cannot_leave_its_place_in_the_path(api: FakeApi) -> None:
    api.answers_with(queue_json())
    api.client().queue.get("a/../b?c")
    assert api.requests[0].url.raw_path.endswith(b"/v1/queue/a%2F..%2Fb%3Fc")
    for id in ("", ".", "..", "\udcff"):
        with pytest.raises(InvalidInputError):
            api.client().for_user(id)


@pytest.mark.parametrize("body", ["héllo 🐘", "a\r\nb\n", " padded ", "cGFy", '{"a":1}', "\u2028\ufeff", 'say "hi" \\'])
def test_a_body_is_sent_exactly_as_it_is(api: FakeApi, body: str) -> None:
    api.answers_with(SENT, status=201)
    api.client().queue.send("q", body)
    assert api.bodies() == [{"body": body}]


def test_text_travels_as_utf8_and_not_as_escapes_that_outgrow_the_limits() -> None:
    assert encode({"body": "🐘"}) == '{"body":"🐘"}'.encode()


def test_a_lone_surrogate_reaches_the_server_which_can_name_it() -> None:
    assert encode({"body": "a\ud800"}) == b'{"body":"a\\ud800"}'


@pytest.mark.parametrize(("wait", "patience"), [(None, 10), (0, 10), (20, 30), (10**400, 30), (-100, 10)])
def test_a_call_gives_up_ten_seconds_after_the_server_should_have_answered(
    api: FakeApi, wait: int | None, patience: int
) -> None:
    api.answers_with({"messages": []})
    api.client().queue.receive("q", wait=wait)
    assert api.requests[0].extensions["timeout"]["read"] == patience


def test_creates_purges_and_redrives_carry_an_idempotency_key_and_sends_do_not(api: FakeApi) -> None:
    purging = {"status": "purging", "done_by": "2026-01-02T03:05:05Z"}
    for answer in (queue_json(), purging, purging, {"moved": 0, "remaining": 0}, SENT):
        api.answers_with(answer)
    queue = api.client().queue
    queue.create("jobs")
    queue.purge("q")
    queue.purge_dlq("q")
    queue.redrive("q")
    queue.send("q", "x")
    keys = [request.headers.get("idempotency-key") for request in api.requests]
    assert keys[-1] is None
    assert None not in keys[:-1]
    assert len(set(keys[:-1])) == 4


def test_key_and_address_come_from_the_environment_when_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAIVE_API_KEY", KEY)
    monkeypatch.setenv("NAIVE_BASE_URL", "https://api.example.com/")
    Naive().close()
    monkeypatch.delenv("NAIVE_API_KEY")
    with pytest.raises(ConfigurationError) as missing:
        Naive()
    assert missing.value.hint == "Pass one, or set NAIVE_API_KEY."


@pytest.mark.parametrize(("key", "base_url"), [("", None), (None, "")])
def test_what_is_told_and_empty_is_not_looked_for_elsewhere(
    monkeypatch: pytest.MonkeyPatch, key: str | None, base_url: str | None
) -> None:
    monkeypatch.setenv("NAIVE_API_KEY", KEY)
    monkeypatch.setenv("NAIVE_BASE_URL", BASE_URL)
    with pytest.raises(ConfigurationError):
        Naive(key, base_url)


@pytest.mark.parametrize("base_url", ["https://api.example.com/v1", "https://api.example.com/v1/"])
def test_an_address_with_the_version_is_refused_with_the_one_without(base_url: str) -> None:
    with pytest.raises(ConfigurationError, match="ends with /v1") as refused:
        Naive(KEY, base_url)
    assert refused.value.hint == "The base URL is without /v1: https://api.example.com"


def test_a_closed_client_says_that_it_is(api: FakeApi) -> None:
    with api.client() as client:
        pass
    with pytest.raises(ConfigurationError, match="closed"):
        client.queue.list()


def test_a_body_that_is_no_json_is_an_error_of_ours(api: FakeApi) -> None:
    with pytest.raises(InvalidInputError, match="bytes"):
        api.client().queue.send("q", b"x")  # type: ignore[arg-type]  # as a program without types


def test_a_wait_that_is_no_number_is_left_to_the_server(api: FakeApi) -> None:
    api.refuses_with("invalid_input", 400)
    with pytest.raises(InvalidInputError, match="This is invalid_input"):
        api.client().queue.receive("q", wait="20")  # type: ignore[arg-type]  # as a program without types


@pytest.mark.parametrize("handle", ["\udcff", "h" * 70_000])
def test_a_request_that_cannot_be_written_is_an_error_of_ours(api: FakeApi, handle: str) -> None:
    with pytest.raises(InvalidInputError):
        api.client().queue.ack("q", handle)


@pytest.mark.parametrize(
    "base_url",
    [
        "api.example.com",
        "ftp://api.example.com",
        "http://",
        "http://a:b",
        "localhost:8000",
        "http://a..b",
        "http://a/\udcff",
        "http://me:secret@a",
        "http://a/?b",
        "http://a/#b",
    ],
)
def test_an_address_that_cannot_work_is_refused_before_any_call(api: FakeApi, base_url: str) -> None:
    with pytest.raises(ConfigurationError, match="base URL"):
        api.client(base_url=base_url)


@pytest.mark.parametrize("key", [" ", "nv_sk_live_é", "nv_sk\nlive"])
def test_a_key_that_cannot_be_one_is_refused_without_being_repeated(api: FakeApi, key: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        api.client(api_key=key)
    assert key not in str(refused.value) or not key.strip()


def test_a_line_end_after_the_key_does_not_matter(api: FakeApi) -> None:
    api.answers_with(queue_json())
    api.client(api_key=f"{KEY}\n").queue.get("q")
    assert api.requests[0].headers["authorization"] == f"Bearer {KEY}"
