"""From an answer to a model or to an error."""

from __future__ import annotations

import json
import pickle

import httpx
import pytest

import naive
from naive import Naive, NaiveError, Queue, UnexpectedAnswerError
from naive.answers import failure, read
from naive.constants import MAX_ANSWER_BYTES, MEBIBYTE
from naive.models import Received
from tests.unit.clients.fake_api import BASE_URL, KEY, FakeApi, Flood, key_json, message_json, queue_json, user_json

CODES = [
    (400, "invalid_input", naive.InvalidInputError),
    (400, "receipt_invalid", naive.ReceiptInvalidError),
    (400, "receipt_expired", naive.ReceiptExpiredError),
    (401, "unauthorized", naive.UnauthorizedError),
    (403, "forbidden", naive.ForbiddenError),
    (403, "key_subject_mismatch", naive.KeySubjectMismatchError),
    (404, "not_found", naive.NotFoundError),
    (409, "already_exists", naive.AlreadyExistsError),
    (409, "conflict", naive.ConflictError),
    (409, "idempotency_mismatch", naive.IdempotencyMismatchError),
    (409, "request_in_progress", naive.RequestInProgressError),
    (409, "purge_in_progress", naive.PurgeInProgressError),
    (413, "payload_too_large", naive.PayloadTooLargeError),
    (429, "rate_limited", naive.RateLimitedError),
    (500, "internal_error", naive.InternalError),
    (503, "unavailable", naive.UnavailableError),
]


def error_body(**fields: object) -> bytes:
    return json.dumps({"error": fields}).encode()


@pytest.mark.parametrize(("status", "code", "kind"), CODES)
def test_each_code_has_its_own_error(status: int, code: str, kind: type[NaiveError]) -> None:
    error = failure(status, {}, error_body(code=code, message="m", request_id="r"))
    assert type(error) is kind
    assert (error.status, error.code) == (status, code)


def test_an_error_says_all_that_the_api_said() -> None:
    body = error_body(
        code="already_exists", message="Taken.", hint="Pick another.", details={"id": "q"}, request_id="r"
    )
    error = failure(409, {}, body)
    assert (error.message, error.hint, error.details, error.request_id) == (
        "Taken.",
        "Pick another.",
        {"id": "q"},
        "r",
    )
    assert str(error) == "Taken. (already_exists, request r)\nHint: Pick another."


def test_a_code_of_a_newer_server_is_an_error_of_its_status() -> None:
    error = failure(409, {}, error_body(code="on_holiday", message="m"))
    assert type(error) is naive.ConflictError
    assert error.code == "on_holiday"


@pytest.mark.parametrize(
    ("status", "said", "kind", "code"),
    [
        (404, "Not Found", naive.NotFoundError, "not_found"),
        (413, "Request Entity Too Large", naive.PayloadTooLargeError, "payload_too_large"),
        (429, "Too Many Requests", naive.RateLimitedError, "rate_limited"),
        (500, "Internal Server Error", naive.InternalError, "internal_error"),
        (503, "Service Unavailable", naive.UnavailableError, "unavailable"),
        (504, "Endpoint request timed out", naive.UnavailableError, "unavailable"),
    ],
)
def test_the_gateways_own_errors_become_ours(status: int, said: str, kind: type[NaiveError], code: str) -> None:
    error = failure(status, httpx.Headers({"Apigw-Requestid": "g-1"}), json.dumps({"message": said}).encode())
    assert type(error) is kind
    assert (error.message, error.code, error.status, error.request_id) == (said, code, status, "g-1")


@pytest.mark.parametrize("status", [500, 502, 503, 504])
@pytest.mark.parametrize("body", [{"message": "Oops"}, {"message": None}, {"errorMessage": "Oops"}])
def test_a_service_that_fails_behind_its_gateway_has_the_right_address(status: int, body: object) -> None:
    error = failure(status, {}, json.dumps(body).encode())
    assert isinstance(error, naive.ServerError)
    assert "try again" in str(error.hint)


def test_a_gateway_that_has_too_much_to_do_has_the_right_address() -> None:
    assert "try again" in str(failure(429, {}, b'{"message": "Too Many Requests"}').hint)


@pytest.mark.parametrize(
    ("status", "content"),
    [
        (502, b"<html>Bad gateway</html>"),
        (301, b""),
        (404, b"[]"),
        (400, b'{"error": "text"}'),
        (418, b"\xff"),
        (503, b"[" * 100_000),
    ],
)
def test_a_strangers_answer_is_an_error_that_doubts_the_address(status: int, content: bytes) -> None:
    error = failure(status, {}, content)
    assert type(error) is UnexpectedAnswerError
    assert error.status == status
    assert "base URL" in str(error.hint)


def test_a_stranger_that_says_200_is_an_error_too(api: FakeApi) -> None:
    api.answers_with(b"<html>Please log in to the WiFi</html>")
    with pytest.raises(UnexpectedAnswerError, match="not a Queue"):
        api.client().queue.get("q")


def test_an_answer_that_does_not_fit_is_not_quoted() -> None:
    content = json.dumps({"messages": [message_json(body="secret", receive_count="many secrets")]}).encode()
    with pytest.raises(UnexpectedAnswerError) as error:
        read(Received, content)
    assert "messages.0.receive_count" in str(error.value)
    assert "secret" not in str(error.value)


def test_fields_of_a_newer_server_are_kept() -> None:
    queue = read(Queue, json.dumps(queue_json(colour="green", type="priority")).encode())
    assert queue.type == "priority"
    assert queue.model_extra == {"colour": "green"}


def test_a_list_is_iterated_over_and_counted_by_its_entries(api: FakeApi) -> None:
    api.answers_with({"queues": [queue_json()], "next_cursor": None})
    api.answers_with({"users": [user_json()], "next_cursor": None})
    api.answers_with({"keys": [key_json(), key_json()], "next_cursor": None})
    api.answers_with({"messages": [message_json()]})
    api.answers_with({"messages": []})
    api.answers_with({"results": [{"message_id": "m"}]})
    client = api.client()
    queues, users, keys = client.queue.list(), client.users.list(), client.keys.list()
    received, dead = client.queue.receive("q"), client.queue.peek_dlq("q")
    sent = client.queue.send_batch("q", [{"body": "x"}])
    assert [list(queues), list(users), list(keys)] == [queues.queues, users.users, keys.keys]
    assert [list(received), list(dead), list(sent)] == [received.messages, [], sent.results]
    assert [len(entries) for entries in (queues, users, keys, received, dead, sent)] == [1, 1, 2, 1, 0, 1]


def test_an_answer_remembers_its_own_text() -> None:
    content = json.dumps(queue_json(), indent=3).encode()
    assert read(Queue, content).raw_json == content


@pytest.mark.parametrize("escaped", [True, False])
def test_a_received_body_is_exact(escaped: bool) -> None:
    body = ' {"a":1}\r\n🐘\u2028 '
    content = json.dumps({"messages": [message_json(body=body)]}, ensure_ascii=escaped).encode()
    assert read(Received, content).messages[0].body == body


def answered(content: httpx.SyncByteStream, status: int = 200, encoding: str = "identity") -> Naive:
    headers = {"content-encoding": encoding}
    transport = httpx.MockTransport(lambda _: httpx.Response(status, headers=headers, stream=content))
    return Naive(KEY, BASE_URL, transport=transport)


@pytest.mark.parametrize("status", [200, 400])
def test_an_answer_that_goes_on_and_on_is_not_read_to_its_end(status: int) -> None:
    content = Flood()
    with pytest.raises(UnexpectedAnswerError, match="more than 16,777,216 bytes") as error:
        answered(content, status).queue.send("q", "x")
    assert error.value.status == status
    assert content.read == MAX_ANSWER_BYTES + MEBIBYTE
    assert content.is_closed


def test_an_answer_as_large_as_one_may_be_is_read(api: FakeApi) -> None:
    api.answers_with(json.dumps(queue_json()).encode().ljust(MAX_ANSWER_BYTES))
    assert api.client().queue.get("q").name == "jobs"


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "gzip, gzip", "br"])
def test_a_packed_answer_is_neither_asked_for_nor_unpacked(encoding: str) -> None:
    content = Flood()
    with pytest.raises(UnexpectedAnswerError, match="packed"):
        answered(content, encoding=encoding).queue.get("q")
    assert content.read == 0


def test_answers_are_asked_for_as_they_are(api: FakeApi) -> None:
    api.answers_with(json.dumps(queue_json()).encode(), headers={"content-encoding": "identity"})
    api.client().queue.get("q")
    assert api.requests[0].headers["accept-encoding"] == "identity"


def test_an_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(failure(404, {}, error_body(code="not_found", message="Gone.", request_id="r"))))
    assert (type(error), error.message, error.request_id) == (naive.NotFoundError, "Gone.", "r")


def test_no_error_shows_the_key(api: FakeApi) -> None:
    api.breaks_with(httpx.ReadTimeout("slow"))
    with pytest.raises(NaiveError) as error:
        api.client().queue.send("q", "x")
    assert KEY not in repr(error.value) + str(error.value) + repr(api.client())
