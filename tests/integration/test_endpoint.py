"""What every operation has in common: how requests are read, answered and refused."""

import base64
import importlib
import json
import sys
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError

from tenancy.telemetry import logger
from tests.integration.conftest import Api, Calls, Context, aws_fault
from tests.template import ROOT

PLANTED = "canary-in-a-body"


@pytest.mark.parametrize(
    "raw",
    [
        "{",
        "[]",
        '"text"',
        "7",
        "null",
        '{"name": NaN}',
        '{"name": Infinity}',
        "[" * 100_000,
        "9" * 10_000,
        '{"name": "x"} trailing',
        "\ufeff{}",
        "\udcff",
    ],
)
def test_a_body_that_is_no_json_object_is_refused(api: Api, raw: str) -> None:
    answer = api("POST", "/v1/queue", raw=raw)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert "JSON object" in answer.json["error"]["message"]


def test_a_body_in_base64_is_read_and_one_that_is_no_utf8_refused(api: Api) -> None:
    handler = importlib.import_module("functions.create_queue.app").handler
    event = json.loads((ROOT / "events/send_message.json").read_text())
    event["headers"]["authorization"] = f"Bearer {api.key}"
    event |= {"pathParameters": None, "isBase64Encoded": True}
    statuses = {}
    for raw in (b'{"name": "jobs"}', b'{"name": "\xff"}'):
        event["body"] = base64.b64encode(raw).decode()
        statuses[raw] = handler(event, Context())["statusCode"]
    assert list(statuses.values()) == [201, 400]


def test_an_unknown_field_with_half_a_surrogate_pair_is_a_400(api: Api) -> None:
    answer = api("POST", "/v1/queue", raw='{"name": "x", "\\ud800": 1}')
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert "unknown field" in answer.json["error"]["message"]
    assert len(api("POST", "/v1/queue", raw=f'{{"name": {"9" * 4000}}}').text) < 400


def test_a_flood_of_unknown_fields_makes_a_short_answer(api: Api) -> None:
    answer = api("POST", "/v1/queue", {"name": "x", **{f"field{n}" * 100: n for n in range(1000)}})
    assert answer.status == 400
    assert len(answer.text) < 2000


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/v1"),
        ("PUT", "/v1/queue"),
        ("POST", "/v1/queue/"),
        ("GET", "/v2/queue"),
        ("DELETE", "/v1/queue"),
        ("OPTIONS", "/v1/queue"),
    ],
)
def test_an_unknown_route_is_answered_by_us_with_or_without_a_key(api: Api, method: str, path: str) -> None:
    for key in (api.key, "none"):
        api.key = key
        answer = api(method, path)
        assert (answer.status, answer.code) == (404, "not_found")
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.json["error"]["request_id"] == answer.headers["X-Request-Id"]


def test_health_needs_no_key(api: Api) -> None:
    api.key = "none"
    answer = api("GET", "/health")
    assert (answer.status, answer.json) == (200, {"status": "ok"})
    assert api("GET", "/health", verbose=1).status == 400
    assert api("GET", "/nothing", verbose=1).status == 404


def test_every_answer_has_a_request_id_and_is_not_cached(api: Api) -> None:
    for answer in (api("GET", "/v1/queue"), api("GET", "/v1/queue/x"), api("DELETE", f"/v1/queue/{api.queue()}")):
        assert answer.headers["X-Request-Id"].startswith("request-")
        assert answer.headers["Cache-Control"] == "no-store"


def test_a_query_where_there_is_none_is_refused(api: Api) -> None:
    answer = api("GET", f"/v1/queue/{api.queue()}", verbose=1)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert "unknown field 'verbose'" in answer.json["error"]["message"]
    assert api("POST", "/v1/queue", {"name": "x"}, dry_run=1).status == 400


def test_the_key_is_judged_before_the_queue_and_the_queue_before_the_body(api: Api) -> None:
    assert api("POST", "/v1/queue/x/messages", raw="{").status == 404
    api.key = "none"
    assert api("POST", "/v1/queue/x/messages", raw="{").status == 401


FAULTS: list[Any] = [
    aws_fault("InternalError", 500),
    aws_fault("ServiceUnavailable", 503),
    aws_fault("ThrottlingException"),
    aws_fault("RequestThrottled", 403),
    aws_fault("ProvisionedThroughputExceededException"),
    EndpointConnectionError(endpoint_url="https://sqs.secret"),
    ConnectTimeoutError(endpoint_url="https://sqs.secret"),
    ReadTimeoutError(endpoint_url="https://sqs.secret"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: str(fault)[:40])
@pytest.mark.parametrize("operation", ["BatchGetItem", "SendMessage"])
def test_a_dependency_that_is_down_is_503_with_retry_after(
    api: Api, calls: Calls, operation: str, fault: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    queue = api.queue()
    calls.fail(operation, fault)
    answer = api("POST", f"/v1/queue/{queue}/messages", {"body": PLANTED})
    assert (answer.status, answer.code) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) > 0
    assert_nothing_leaks(api, answer.text + capsys.readouterr().out)


def test_keys_that_dynamodb_did_not_process_are_asked_for_again(api: Api, calls: Calls) -> None:
    queue = api.queue()
    unprocessed = {"registry": {"Keys": [{"pk": {"S": "x"}, "sk": {"S": "x"}}]}}
    partial = {"Responses": {}, "UnprocessedKeys": unprocessed}
    calls.fail("BatchGetItem", partial, None)
    assert api("GET", f"/v1/queue/{queue}").status == 401  # what was asked for again is another key
    assert calls.arguments("BatchGetItem")[-1]["RequestItems"] == unprocessed
    calls.fail("BatchGetItem", partial, partial, partial)
    assert api("GET", f"/v1/queue/{queue}").status == 503


def test_a_fault_that_nobody_foresaw_is_a_500_that_says_nothing(
    api: Api, calls: Calls, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for handler in logger.handlers:
        monkeypatch.setattr(handler, "stream", sys.stdout)  # which capsys exchanged since the logger was made
    queue = api.queue()
    calls.fail("SendMessage", aws_fault("AccessDenied", 403))
    answer = api("POST", f"/v1/queue/{queue}/messages", {"body": PLANTED})
    assert (answer.status, answer.code) == (500, "internal_error")
    log = capsys.readouterr().out
    unhandled = next(json.loads(line) for line in log.splitlines() if '"unhandled"' in line)
    assert unhandled["request_id"] == answer.headers["X-Request-Id"]
    assert unhandled["fault"] == "SomeOperation AccessDenied"
    assert any("producer.py" in frame for frame in unhandled["frames"])
    assert_nothing_leaks(api, answer.text + log)


def test_a_request_is_one_line_with_its_tenant_and_outcome(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    queue = api.queue()
    capsys.readouterr()
    api.send(queue, PLANTED)
    log = capsys.readouterr().out
    (line,) = map(json.loads, log.splitlines())
    assert (line["company"], line["user"], line["status"], line["Requests"]) == (api.company, api.user, 201, [1.0])
    assert_nothing_leaks(api, log)
    api("GET", f"/v1/queue/{queue}/messages", wait=99)
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (line["status"], line["outcome"]) == (400, "invalid_input")


def assert_nothing_leaks(api: Api, text: str) -> None:
    for secret in (api.key[-43:], PLANTED, "arn:aws", "sqs.us-east-1", "sqs.secret"):
        assert secret not in text


@pytest.mark.parametrize(
    "raw", ['{"name": "a", "name": "b"}', '{"name": "a", "na\\u006de": null}', '{"x": {"y": 1, "y": 1}}']
)
def test_a_field_that_is_given_twice_is_refused(api: Api, raw: str) -> None:
    answer = api("POST", "/v1/queue", raw=raw)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert "given more than once" in answer.json["error"]["message"]
    assert api("GET", "/v1/queue").json["queues"] == []


def test_an_error_never_repeats_a_key_that_stood_where_none_belongs(api: Api) -> None:
    queue = api.queue()
    message = {"body": "x", "attributes": {f"{api.key} ": "v"}}
    taken = api("POST", "/v1/users", {"external_id": api.key})
    assert taken.status == 201
    for answer in (
        api("POST", "/v1/users", {api.key: 1}),
        api("GET", "/v1/queue", **dict[str, Any]({api.key: 1})),
        api("POST", "/v1/users", {"external_id": api.key}),
        api("POST", f"/v1/queue/{queue}/messages", message),
        api("POST", f"/v1/queue/{queue}/messages/batch", {"messages": [message]}),
    ):
        assert api.key[11:] not in answer.text
        assert "nv_sk_live_…" in json.loads(answer.text.replace("\\u2026", "…")).__repr__()
