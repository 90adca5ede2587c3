"""The messages of a queue reach its webhook, and what fails comes back later and alone."""

import base64
import importlib
import io
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from standardwebhooks import Webhook

from tenancy import table, webhooks
from tenancy.errors import NotFound
from tenancy.telemetry import logger
from tenancy.webhooks import Target
from tests.integration.conftest import Api, Calls, Context, aws_fault
from tests.receiver import Call, Receiver, answering, receiving
from tests.template import ROOT

EVENT: Any = json.loads((ROOT / "events/webhook_worker.json").read_text())
SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes....").decode()
FUNCTION_SECONDS = 20


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The function as it is in stage local, and without jitter."""
    monkeypatch.setenv("WEBHOOK_ALLOW_LOOPBACK", "true")
    monkeypatch.setattr("random.uniform", max)
    return importlib.import_module("functions.webhook_worker.app")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Any]]:
    """The lines that were logged."""
    stream = io.StringIO()
    for handler in logger.handlers:
        monkeypatch.setattr(handler, "stream", stream)
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.fixture
def worker(app: Any, receiver: Receiver, api: Api, monkeypatch: pytest.MonkeyPatch) -> "Worker":
    return Worker(app, receiver, api, monkeypatch)


class Worker:
    """The function with a queue whose webhook is the receiver."""

    def __init__(self, app: Any, receiver: Receiver, api: Api, monkeypatch: pytest.MonkeyPatch):
        self._app = app
        self._receiver = receiver
        self._api = api
        self._monkeypatch = monkeypatch
        self.queue = ""

    def of(self, name: str = "jobs", **settings: Any) -> "Worker":
        """With a new queue."""
        self.queue = self._api.queue(name, **settings)
        record = table.read([("QUEUE#" + self.queue, "QUEUE")])["QUEUE#" + self.queue, "QUEUE"]
        target = Target(
            self._receiver.url + "?token=t0ken", SECRET, self.queue, record["url"], fifo=record["type"] == "fifo"
        )
        self._monkeypatch.setattr(self._app, "_target", lambda _: target)
        self._url = record["url"]
        return self

    def send(self, *bodies: str, **fields: Any) -> None:
        for body in bodies:
            self._api.send(self.queue, body, **fields)

    def receive(self, most: int = 10) -> list[Any]:
        """What Lambda's poller would hand over."""
        messages = boto3.client("sqs").receive_message(
            QueueUrl=self._url, MaxNumberOfMessages=most, MessageSystemAttributeNames=["All"]
        )["Messages"]
        (sample,) = EVENT["Records"]
        return [
            {
                **sample,
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": message["Attributes"],
                "messageAttributes": {},
            }
            for message in messages
        ]

    def run(self, records: list[Any], seconds: float = FUNCTION_SECONDS) -> list[str]:
        """The bodies of what the function says to have failed."""
        answer = self._app.handler({"Records": records}, Context(seconds))
        bodies = {record["messageId"]: record["body"] for record in records}
        assert set(answer) == {"batchItemFailures"}
        return [bodies[failure["itemIdentifier"]] for failure in answer["batchItemFailures"]]


def hidden(calls: Calls, records: list[Any]) -> dict[str, int]:
    """For how long each message was hidden, by its body."""
    bodies = {record["receiptHandle"]: record["body"] for record in records}
    entries = [entry for made in calls.arguments("ChangeMessageVisibilityBatch") for entry in made["Entries"]]
    return {bodies[entry["ReceiptHandle"]]: entry["VisibilityTimeout"] for entry in entries}


def by_body(failing: dict[str, int]) -> Callable[[Call], None]:
    """Answer with a status that goes by the message's body, 200 to most."""

    def behave(call: Call) -> None:
        call.answer(failing.get(call.read().body.decode(), 200))

    return behave


def test_the_sample_event_is_delivered(worker: Worker, receiver: Receiver, calls: Calls) -> None:
    assert worker.of().run(EVENT["Records"]) == []
    (received,) = receiver.requests
    assert Webhook(SECRET).verify(received.body, received.headers) == {"task": "resize"}
    assert received.headers["naive-queue-id"] == worker.queue
    assert json.loads(base64.urlsafe_b64decode(received.headers["naive-attributes"])) == {"size": "800x600"}
    assert "ChangeMessageVisibilityBatch" not in calls.names()


def test_what_fails_comes_back_later_and_alone(worker: Worker, receiver: Receiver, calls: Calls) -> None:
    worker.of().send("a", "b", "c", "d")
    receiver.behave = by_body({"b": 500, "d": 404})
    records = worker.receive()
    assert sorted(worker.run(records)) == ["b", "d"]
    assert hidden(calls, records) == {"b": 30, "d": 30}
    assert sorted(received.body for received in receiver.requests) == [b"a", b"b", b"c", b"d"]


def test_it_comes_back_later_every_time_and_as_late_as_the_webhook_asks(
    worker: Worker, receiver: Receiver, calls: Calls
) -> None:
    worker.of().send("a", "b", "c")
    records = worker.receive()
    for record, count in zip(records, ("1", "4", "50"), strict=True):
        record["attributes"]["ApproximateReceiveCount"] = count
    receiver.behave = answering(503)
    worker.run(records)
    assert hidden(calls, records) == {"a": 30, "b": 240, "c": 3600}
    receiver.behave = answering(429, Retry_After="1000")
    worker.run(records)
    assert hidden(calls, records) == {"a": 1200, "b": 1200, "c": 3600}


def test_ten_messages_are_delivered_at_the_same_time(worker: Worker, receiver: Receiver) -> None:
    worker.of().send(*map(str, range(10)))
    together = threading.Barrier(10, timeout=5)

    def behave(call: Call) -> None:
        call.read()
        together.wait()  # None is answered before all have come.
        call.answer()

    receiver.behave = behave
    records = worker.receive()
    assert len(records) == 10
    assert worker.run(records) == []


def test_ten_that_hang_fail_together_in_the_functions_time(
    worker: Worker, receiver: Receiver, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "SECONDS", 0.5)
    worker.of().send(*map(str, range(10)))
    receiver.behave = Call.wait
    records = worker.receive()
    assert len(worker.run(records)) == 10
    (made,) = calls.arguments("ChangeMessageVisibilityBatch")
    assert len(made["Entries"]) == 10


def test_a_slow_start_leaves_less_for_the_deliveries(worker: Worker, receiver: Receiver, calls: Calls) -> None:
    worker.of().send("a")
    receiver.behave = Call.wait
    records = worker.receive()
    assert worker.run(records, seconds=5.5) == ["a"]
    assert hidden(calls, records) == {"a": 30}


def fifo(worker: Worker) -> Worker:
    return worker.of("orders", type="fifo", visibility_timeout=60)


def test_a_fifo_group_is_delivered_in_order_and_beside_others(worker: Worker, receiver: Receiver) -> None:
    fifo(worker).send("a1", "a2", "a3", group_id="a")
    worker.send("b1", "b2", group_id="b")
    records = worker.receive()
    assert {record["attributes"]["MessageGroupId"] for record in records} == {"a", "b"}
    assert worker.run(records) == []
    delivered = [(received.headers["naive-group-id"], received.body) for received in receiver.requests]
    assert [body for group, body in delivered if group == "a"] == [b"a1", b"a2", b"a3"]
    assert [body for group, body in delivered if group == "b"] == [b"b1", b"b2"]


def test_a_fifo_group_stops_at_its_first_failure_and_comes_back_whole(
    worker: Worker, receiver: Receiver, calls: Calls
) -> None:
    fifo(worker).send("a1", "a2", "a3", group_id="a")
    worker.send("b1", "b2", group_id="b")
    receiver.behave = by_body({"a2": 500})
    records = worker.receive()
    next(record for record in records if record["body"] == "a2")["attributes"]["ApproximateReceiveCount"] = "2"
    assert sorted(worker.run(records)) == ["a2", "a3"]
    assert hidden(calls, records) == {"a2": 60, "a3": 60}
    assert sorted(received.body for received in receiver.requests) == [b"a1", b"a2", b"b1", b"b2"]


def test_a_fifo_group_that_takes_too_long_is_given_back_at_once(
    worker: Worker, receiver: Receiver, calls: Calls, log: Callable[[], list[Any]]
) -> None:
    fifo(worker).send("a1", "a2", "a3", group_id="a")
    records = worker.receive()
    assert worker.run(records, seconds=14) == ["a2", "a3"]
    assert hidden(calls, records) == {"a2": 0, "a3": 0}
    assert [received.body for received in receiver.requests] == [b"a1"]
    assert log() == []


@pytest.mark.parametrize(
    "fault", [aws_fault("InternalError", 500), aws_fault("InvalidParameterValue"), ConnectionError("no route")]
)
def test_a_message_that_cannot_be_hidden_fails_all_the_same(
    worker: Worker, receiver: Receiver, calls: Calls, log: Callable[[], list[Any]], fault: Exception
) -> None:
    worker.of().send("a", "b")
    receiver.behave = by_body({"a": 500})
    calls.fail("ChangeMessageVisibilityBatch", fault)
    assert worker.run(worker.receive()) == ["a"]
    assert [line["message"] for line in log()] == ["undelivered", "unhandled"]
    assert calls.names().count("ChangeMessageVisibilityBatch") == 1


def test_hiding_is_tried_once_so_that_it_leaves_time_to_answer(app: Any) -> None:
    config = app._sqs.meta.config
    assert config.retries["total_max_attempts"] == 1
    assert config.connect_timeout + config.read_timeout < app._LAST_SECONDS


def test_one_that_sqs_refuses_to_hide_is_logged(
    worker: Worker, receiver: Receiver, calls: Calls, log: Callable[[], list[Any]]
) -> None:
    worker.of().send("a")
    receiver.behave = answering(500)
    calls.fail("ChangeMessageVisibilityBatch", {"Failed": [{"Id": "0", "Code": "InvalidParameterValue"}]})
    records = worker.receive()
    assert worker.run(records) == ["a"]
    _, refused = log()
    assert (refused["message"], refused["outcome"]) == ("not hidden", "InvalidParameterValue")
    assert (refused["queue_id"], refused["message_id"]) == (worker.queue, records[0]["messageId"])


def test_a_failed_delivery_is_one_line_and_no_line_has_a_secret(
    worker: Worker, receiver: Receiver, log: Callable[[], list[Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    worker.of().send("b0dy", "fine")
    receiver.behave = by_body({"b0dy": 500})
    records = worker.receive()
    capsys.readouterr()
    worker.run(records)
    (line,) = log()
    (message,) = (record["messageId"] for record in records if record["body"] == "b0dy")
    assert line["level"] == "WARNING"
    assert {name: line[name] for name in ("message", "queue_id", "message_id", "receive_count")} == {
        "message": "undelivered",
        "queue_id": worker.queue,
        "message_id": message,
        "receive_count": 1,
    }
    assert (line["outcome"], line["next_try_seconds"]) == ("status 500", 30)
    written = capsys.readouterr().out
    for secret in ("b0dy", "t0ken", SECRET, SECRET.removeprefix("whsec_")):
        assert secret not in json.dumps(line) + written
    (measured,) = map(json.loads, written.splitlines())
    assert (measured["Deliveries"], measured["DeliveryFailures"]) == ([1.0], [1.0])
    assert measured["queue_id"] == worker.queue


def test_what_was_not_tried_is_no_failed_delivery(
    worker: Worker, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    fifo(worker).send("a1", "a2", group_id="a")
    receiver.behave = answering(500)
    records = worker.receive()
    capsys.readouterr()
    worker.run(records)
    measured = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (measured["Deliveries"], measured["DeliveryFailures"]) == ([0.0], [1.0])


QUEUE = "3f6f3b9e-8a53-4a39-9d0c-3f1c6f6f7a10"
ARN = EVENT["Records"][0]["eventSourceARN"]


@pytest.mark.parametrize("kind", ["standard", "fifo"])
def test_the_webhook_is_that_of_the_queue_which_the_event_names(
    app: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    stored: dict[table.Key, Any] = {
        (f"QUEUE#{QUEUE}", "QUEUE"): {"url": "https://sqs/q", "type": kind, "consumer": {"url": "https://a.example/"}},
        (f"SECRET#{QUEUE}", "SECRET"): {"secret": SECRET},
    }
    monkeypatch.setattr(table, "read", lambda keys: {key: stored[key] for key in keys if key in stored})
    target = Target("https://a.example/", SECRET, QUEUE, "https://sqs/q", fifo=kind == "fifo")
    assert app._target(ARN + (".fifo" if kind == "fifo" else "")) == target


def test_a_queue_without_a_webhook_keeps_its_messages(app: Any) -> None:
    with pytest.raises(NotFound):
        app.handler(EVENT, Context(FUNCTION_SECONDS))
