"""A POST that is repeated with its Idempotency-Key is done once."""

from typing import Any

import boto3
import pytest

from tests.integration.conftest import Answer, Api, Calls, aws_fault


def send(api: Api, queue: str, key: str = "k1", body: str = "work", mount: str = "/v1") -> Answer:
    path = f"{mount}/queue/{queue}/messages"
    return api("POST", path, {"body": body}, headers={"idempotency-key": key})


def test_a_repeat_gets_the_first_answer_and_does_nothing(api: Api, calls: Calls) -> None:
    queue = api.queue()
    first, second = send(api, queue), send(api, queue)
    assert (second.status, second.json) == (first.status, first.json) == (201, first.json)
    assert first.headers["X-Request-Id"] != second.headers["X-Request-Id"]
    assert calls.names().count("SendMessage") == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("", {"name": "jobs"}),
        ("/{id}/purge", None),
        ("/{id}/messages", {"body": "x"}),
        ("/{id}/messages/batch", {"messages": [{"body": "x"}, {"body": ""}]}),
        ("/{id}/messages/settle", {"ack": ["garbled"]}),
        ("/{id}/dlq/purge", None),
        ("/{id}/redrive", None),
    ],
)
def test_every_post_is_replayed(api: Api, path: str, body: Any) -> None:
    queue = api.queue("first", dlq=True)
    headers = {"idempotency-key": "k"}
    first, second = (api("POST", f"/v1/queue{path}".format(id=queue), body, headers=headers) for _ in range(2))
    assert (second.status, second.text) == (first.status, first.text)
    assert first.status in (200, 201, 202)


def test_another_body_is_a_mismatch_compared_as_bytes(api: Api) -> None:
    queue = api.queue()
    send(api, queue)
    path = f"/v1/queue/{queue}/messages"
    for raw in ('{"body": "other"}', '{"body":"work"}', "{"):
        answer = api("POST", path, raw=raw, headers={"idempotency-key": "k1"})
        assert (answer.status, answer.code) == (409, "idempotency_mismatch")


def test_a_key_is_good_for_its_caller_subject_and_path_alone(api: Api, stranger: Api) -> None:
    queue, other, theirs = api.queue("a"), api.queue("b"), stranger.queue("a")
    ids = {
        send(api, queue).json["message_id"],
        send(api, other).json["message_id"],
        send(stranger, theirs).json["message_id"],
        send(api, queue, mount=f"/v1/users/{api.user}").json["message_id"],
        send(api, queue, key="k2").json["message_id"],
    }
    assert len(ids) == 5
    from functions.bootstrap.app import handler

    made: Any = handler({"company": "acme", "new_key": True}, None)
    same_company = Api(made["company_id"], made["user_id"], made["api_key"])
    assert send(same_company, queue).json["message_id"] not in ids


def test_a_refusal_is_not_kept(api: Api, calls: Calls) -> None:
    queue = api.queue()
    assert send(api, queue, body="").status == 400
    calls.fail("SendMessage", aws_fault("InternalError", 500))
    assert send(api, queue).status == 503
    assert send(api, queue).status == 201


def test_while_the_first_runs_a_repeat_is_in_progress(api: Api, calls: Calls) -> None:
    queue = api.queue()
    during = []

    class Meanwhile(list[Any]):
        def pop(self, index: Any = -1) -> Any:
            super().pop(index)
            during.append(send(api, queue))
            return None

    calls._faults["SendMessage"] = Meanwhile([None])
    assert send(api, queue).status == 201
    assert (during[0].status, during[0].code) == (409, "request_in_progress")
    assert int(during[0].headers["Retry-After"]) >= 1


@pytest.mark.parametrize("key", ["", " ", "a b", "é", "x" * 256, "\t"])
def test_a_malformed_key_is_refused(api: Api, key: str) -> None:
    answer = send(api, api.queue(), key=key)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert "Idempotency-Key must be 1 to 255 characters" in answer.json["error"]["message"]


def test_the_longest_key_is_taken(api: Api) -> None:
    assert send(api, api.queue(), key="~" * 255).status == 201


def test_a_table_that_is_down_is_503_before_and_no_matter_after(api: Api, calls: Calls) -> None:
    queue = api.queue()
    calls.fail("PutItem", aws_fault("InternalServerError", 500))
    assert send(api, queue).status == 503
    assert "SendMessage" not in calls.names()
    calls.fail("UpdateItem", aws_fault("InternalServerError", 500))
    assert send(api, queue).status == 201
    assert calls.names().count("SendMessage") == 1


def test_a_table_that_refuses_us_is_500_at_once(api: Api, calls: Calls) -> None:
    queue = api.queue()
    calls.fail("PutItem", aws_fault("AccessDeniedException"))
    answer = send(api, queue)
    assert (answer.status, answer.code) == (500, "internal_error")


def test_only_posts_have_keys(api: Api) -> None:
    queue = api.queue()
    headers = {"idempotency-key": "not a key"}
    assert api("GET", f"/v1/queue/{queue}", headers=headers).status == 200
    assert api("PATCH", f"/v1/queue/{queue}", {"delay_seconds": 1}, headers=headers).status == 200


def test_a_stored_answer_has_no_body_key_or_url_and_an_end(api: Api) -> None:
    queue = api.queue()
    send(api, queue, body="canary-in-a-body")
    (record,) = boto3.client("dynamodb").scan(TableName="idempotency")["Items"]
    text = repr(record)
    for secret in (api.key[-43:], "canary", "arn:", "http", queue):
        assert secret not in text
    assert int(record["expiration"]["N"]) > 0


def test_a_request_without_a_key_reads_and_writes_no_more_than_before(api: Api, calls: Calls) -> None:
    queue = api.queue()
    before = len(calls.made)
    api.send(queue)
    assert calls.names()[before:] == ["BatchGetItem", "SendMessage"]
