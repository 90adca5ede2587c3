"""The example of a consumer does each message once, fails alone, and keeps the order of a fifo group."""

import importlib
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from tests.integration.conftest import Context
from tests.template import ROOT, resource

SAMPLE: Any = json.loads((ROOT / "events/webhook_worker.json").read_text())["Records"][0]


class ExampleContext(Context):
    """What the library for idempotency asks of Lambda besides."""

    aws_request_id = "request"
    function_name = "consumer_example"


@pytest.fixture(autouse=True)
def aws() -> Iterator[None]:
    """An account with the table of the example and nothing else."""
    with mock_aws():
        fields = ("BillingMode", "AttributeDefinitions", "KeySchema")
        made = {field: resource("ConsumerExampleDone")[field] for field in fields}
        boto3.client("dynamodb").create_table(TableName="done", **made)
        yield


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Any]]:
    """The ids of the messages that were done, in order."""
    app: Any = importlib.import_module("functions.consumer_example.app")
    stream = io.StringIO()
    for handler in app.logger.handlers:
        monkeypatch.setattr(handler, "stream", stream)
    return lambda: [json.loads(line)["message_id"] for line in stream.getvalue().splitlines()]


def message(name: str, body: str | None = None, group: str | None = None) -> Any:
    suffix = {} if group is None else {"MessageGroupId": group}
    arn = SAMPLE["eventSourceARN"] + ("" if group is None else ".fifo")
    attributes = SAMPLE["attributes"] | suffix
    text = json.dumps(name) if body is None else body
    return {**SAMPLE, "messageId": name, "body": text, "attributes": attributes, "eventSourceARN": arn}


def run(*records: Any) -> list[str]:
    """The ids of what failed."""
    app: Any = importlib.import_module("functions.consumer_example.app")
    answer = app.handler({"Records": list(records)}, ExampleContext(10))
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def test_the_sample_event_is_worked_on(done: Callable[[], list[Any]]) -> None:
    assert run(SAMPLE) == []
    assert done() == [SAMPLE["messageId"]]


def test_a_message_that_fails_comes_back_alone(done: Callable[[], list[Any]]) -> None:
    assert run(message("a"), message("b", body="no JSON"), message("c")) == ["b"]
    assert done() == ["a", "c"]


def test_when_all_fail_all_come_back() -> None:
    assert run(message("a", body="{"), message("b", body="{")) == ["a", "b"]
    assert run(message("a", body="{", group="g")) == ["a"]


def test_in_a_fifo_group_what_follows_a_failure_comes_back_with_it(done: Callable[[], list[Any]]) -> None:
    batch = [message(name, group=name[0]) for name in ("a1", "b1", "a2", "b2", "a3")]
    batch[0] = message("a1", body="{", group="a")
    assert run(*batch) == ["a1", "a2", "a3"]
    assert done() == ["b1", "b2"]


def test_a_message_that_is_delivered_twice_is_done_once(done: Callable[[], list[Any]]) -> None:
    assert [run(message("a")), run(message("a"), message("b"))] == [[], []]
    assert done() == ["a", "b"]


def test_one_that_failed_is_done_when_it_comes_back(done: Callable[[], list[Any]]) -> None:
    assert run(message("a", body="{")) == ["a"]
    assert run(message("a")) == []
    assert done() == ["a"]
