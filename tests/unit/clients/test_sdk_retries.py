"""What the SDK tries again, and what it does not."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from naive import (
    InternalError,
    NaiveError,
    NoAnswerError,
    NotFoundError,
    Queue,
    RateLimitedError,
    UnavailableError,
    UnreachableError,
)
from naive.constants import BACKOFF_CAP_SECONDS, MAX_ATTEMPTS
from naive.retries import Repeatable, backoff, pause_before_retry
from tests.unit.clients.fake_api import FakeApi, fifo_json, queue_json

NOWHERE = UnreachableError("refused")
SILENCE = NoAnswerError("timed out")


def failed(status: int, code: str = "any", retry_after: float | None = None) -> NaiveError:
    return NaiveError("failed", status=status, code=code, retry_after=retry_after)


@pytest.mark.parametrize(
    ("failure", "always", "unless_accepted", "unless_run"),
    [
        (NOWHERE, True, True, True),
        (failed(429), True, True, True),
        (failed(503), True, True, False),
        (SILENCE, True, False, False),
        (failed(500), True, False, False),
        (failed(502), True, False, False),
        (failed(504), True, False, False),
        (failed(409, "request_in_progress"), True, False, False),
        (failed(409, "purge_in_progress"), False, False, False),
        (failed(400), False, False, False),
        (failed(401), False, False, False),
        (failed(404), False, False, False),
        (failed(413), False, False, False),
    ],
)
def test_the_table_of_what_may_be_repeated(
    failure: NaiveError, always: bool, unless_accepted: bool, unless_run: bool
) -> None:
    repeated = [pause_before_retry(repeatable, failure, 1, 0.5) is not None for repeatable in Repeatable]
    assert repeated == [always, unless_accepted, unless_run]


def test_pauses_double_up_to_a_cap_and_differ_between_clients() -> None:
    assert [backoff(attempt, 1.0) for attempt in (1, 2, 3)] == [0.25, 0.5, 1.0]
    assert backoff(1, 0.0) == 0.125
    assert backoff(50, 1.0) == BACKOFF_CAP_SECONDS


def test_a_server_that_names_a_wait_gets_at_least_that() -> None:
    pause = pause_before_retry(Repeatable.ALWAYS, failed(429, retry_after=7), 1, 0.0)
    assert pause is not None
    assert 7 < pause < 8


def test_a_wait_of_minutes_is_reported_instead_of_slept() -> None:
    assert pause_before_retry(Repeatable.ALWAYS, failed(503, retry_after=300), 1, 0.0) is None


def test_retry_after_is_read_from_the_answer(api: FakeApi) -> None:
    api.refuses_with("rate_limited", 429, headers={"Retry-After": "3"})
    api.answers_with(queue_json())
    api.client().queue.get("q")
    assert 3 < api.slept[0] < 4


def test_the_last_failure_is_reported_when_the_attempts_are_used_up(api: FakeApi) -> None:
    for _ in range(MAX_ATTEMPTS):
        api.refuses_with("unavailable", 503)
    with pytest.raises(UnavailableError):
        api.client().queue.get("q")
    assert len(api.requests) == MAX_ATTEMPTS
    assert len(api.slept) == MAX_ATTEMPTS - 1


def test_a_repeated_create_is_the_same_request(api: FakeApi) -> None:
    api.breaks_with(httpx.ReadTimeout("slow"))
    api.refuses_with("internal_error", 500)
    api.answers_with(queue_json(), status=201)
    api.client().queue.create("jobs")
    assert len({request.headers["idempotency-key"] for request in api.requests}) == 1
    assert len({request.content for request in api.requests}) == 1


@pytest.mark.parametrize("fault", [httpx.ConnectError("refused"), httpx.ConnectTimeout("slow"), httpx.PoolTimeout("")])
def test_a_send_that_never_left_is_sent_again(api: FakeApi, fault: Exception) -> None:
    api.breaks_with(fault)
    api.answers_with({"message_id": "m"}, status=201)
    assert api.client().queue.send("q", "x").message_id == "m"


@pytest.mark.parametrize("fault", [httpx.ReadTimeout("slow"), httpx.ReadError(""), httpx.RemoteProtocolError("closed")])
def test_a_plain_send_that_may_have_arrived_is_not_sent_again(api: FakeApi, fault: Exception) -> None:
    api.breaks_with(fault)
    with pytest.raises(NoAnswerError):
        api.client().queue.send("q", "x")
    api.refuses_with("internal_error", 500)
    with pytest.raises(InternalError):
        api.client().queue.send_batch("q", [{"body": "x", "dedup_id": "d"}, {"body": "y"}])
    assert len(api.requests) == 2


def test_a_send_with_a_dedup_id_is_sent_again_after_any_failure(api: FakeApi) -> None:
    api.breaks_with(httpx.ReadTimeout("slow"))
    api.answers_with({"message_id": "m"}, status=201)
    api.client().queue.send("q", "x", group_id="g", dedup_id="d")
    assert [body["dedup_id"] for body in api.bodies()] == ["d", "d"]


def test_a_known_fifo_queue_makes_every_send_safe_to_repeat(api: FakeApi) -> None:
    hashing = Queue.model_validate(fifo_json())
    api.breaks_with(httpx.ReadTimeout("slow"))
    api.answers_with({"message_id": "m"}, status=201)
    api.client().queue.send(hashing, "x", group_id="g")
    assert all("dedup_id" not in body for body in api.bodies())  # the queue knows the body by its hash


def test_a_known_fifo_queue_that_does_not_hash_bodies_gets_a_dedup_id(api: FakeApi) -> None:
    plain = Queue.model_validate(fifo_json(content_based_dedup=False))
    api.refuses_with("internal_error", 500)
    api.answers_with({"results": [{"message_id": "m"}, {"message_id": "n"}]})
    api.client().queue.send_batch(plain, [{"body": "x", "group_id": "g"}, {"body": "x", "group_id": "g"}])
    first, second = ([message["dedup_id"] for message in body["messages"]] for body in api.bodies())
    assert first == second
    assert len(set(first)) == 2


@pytest.mark.parametrize(
    "fail",
    [
        lambda api: api.breaks_with(httpx.ReadTimeout("slow")),
        lambda api: api.refuses_with("internal_error", 500),
        lambda api: api.refuses_with("unavailable", 503),
    ],
)
def test_a_receive_that_may_have_leased_messages_is_not_repeated(api: FakeApi, fail: Callable[[FakeApi], None]) -> None:
    fail(api)
    with pytest.raises(NaiveError):
        api.client().queue.receive("q", wait=20)
    assert len(api.requests) == 1


def test_a_receive_that_was_turned_away_is_repeated(api: FakeApi) -> None:
    api.breaks_with(httpx.ConnectError("refused"))
    api.refuses_with("rate_limited", 429)
    api.answers_with({"messages": []})
    assert api.client().queue.receive("q").messages == []


def test_an_ack_is_repeated_after_any_failure(api: FakeApi) -> None:
    api.breaks_with(httpx.ReadTimeout("slow"))
    api.refuses_with("internal_error", 500)
    api.answers_with(status=204)
    api.client().queue.ack("q", "h")
    assert len(api.requests) == 3


def test_a_destroy_whose_first_answer_was_lost_is_done_when_the_queue_is_gone(api: FakeApi) -> None:
    api.breaks_with(httpx.ReadTimeout("slow"))
    api.refuses_with("not_found", 404)
    api.client().queue.destroy("q")


def test_a_destroy_of_a_queue_that_never_was_fails(api: FakeApi) -> None:
    api.refuses_with("not_found", 404)
    with pytest.raises(NotFoundError):
        api.client().queue.destroy("q")


def test_what_the_caller_did_wrong_is_not_tried_again(api: FakeApi) -> None:
    api.refuses_with("invalid_input", 400)
    with pytest.raises(NaiveError):
        api.client().queue.get("q")
    assert api.slept == []


def test_a_rate_limit_of_minutes_is_raised_at_once_and_tells_how_long_to_wait(api: FakeApi) -> None:
    api.refuses_with("rate_limited", 429, headers={"Retry-After": "120"})
    with pytest.raises(RateLimitedError) as limited:
        api.client().queue.get("q")
    assert limited.value.retry_after == 120
    assert (len(api.requests), api.slept) == (1, [])
