"""Messages are leased, acknowledged, held longer and given back."""

import re
import time
from datetime import datetime
from typing import Any

import boto3
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tenancy import drafts, leases, messages, receipts, table
from tests.integration.conftest import Api, Calls, Clock, aws_fault


def url_of(queue: str) -> str:
    return str(table.read([("QUEUE#" + queue, "QUEUE")])["QUEUE#" + queue, "QUEUE"]["url"])


def seconds_from_now(text: str) -> float:
    return datetime.fromisoformat(text).timestamp() - time.time()


def test_an_empty_queue_gives_an_empty_list(api: Api) -> None:
    answer = api("GET", f"/v1/queue/{api.queue()}/messages", wait=0)
    assert (answer.status, answer.json) == (200, {"messages": []})


def test_a_received_message_has_exactly_the_contracts_fields(api: Api) -> None:
    queue = api.queue(visibility_timeout=45)
    api.send(queue)
    (message,) = api.receive(queue)
    assert set(message) == {"message_id", "body", "receipt_handle", "receive_count", "sent_at", "lease_expires_at"}
    assert 43 < seconds_from_now(message["lease_expires_at"]) <= 45
    assert -2 < seconds_from_now(message["sent_at"]) <= 0
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,2000}", message["receipt_handle"])


def test_a_fifo_message_shows_group_dedup_id_and_sequence(api: Api) -> None:
    queue = api.queue("orders", type="fifo")
    sent = api("POST", f"/v1/queue/{queue}/messages", {"body": "x", "group_id": "g", "dedup_id": "d"}).json
    (message,) = api.receive(queue)
    assert (message["group_id"], message["dedup_id"]) == ("g", "d")
    assert message["sequence_number"] == sent["sequence_number"]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"max": 0}, "max must be a whole number from 1 to 10, not 0"),
        ({"max": 11}, "max must be a whole number from 1 to 10, not 11"),
        ({"wait": 21}, "wait must be a whole number from 0 to 20, not 21"),
        ({"wait": -1}, "wait must be a whole number from 0 to 20, not -1"),
        ({"wait": "1.5"}, "wait must be a whole number from 0 to 20, not '1.5'"),
        ({"wait": "1_0"}, "wait must be a whole number from 0 to 20"),
        ({"wait": " 1"}, "wait must be a whole number from 0 to 20"),
        ({"wait": "\u0661"}, "wait must be a whole number from 0 to 20"),
        ({"wait": "9" * 5000}, "wait must be a whole number from 0 to 20"),
        ({"visibility": 43_201}, "visibility must be a whole number from 0 to 43200, not 43201"),
        ({"timeout": 3}, "unknown field 'timeout'; known: max, wait, visibility"),
    ],
)
def test_a_bad_receive_is_refused(api: Api, calls: Calls, query: Any, says: str) -> None:
    answer = api("GET", f"/v1/queue/{api.queue()}/messages", **query)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert says in answer.json["error"]["message"]
    assert "ReceiveMessage" not in calls.names()


def test_a_long_poll_goes_by_no_grant_that_is_older_than_five_seconds(
    api: Api, calls: Calls, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = api.queue()
    before = len(calls.made)
    asked = []

    def poll(url: str, most: int, wait: int, visibility: int) -> list[Any]:
        asked.append((len(calls.made) - before, wait))
        clock.passed += wait
        return []

    monkeypatch.setattr(leases, "poll", poll)
    assert api.receive(queue, wait=20) == []
    assert calls.names()[before:] == ["BatchGetItem"] * 4
    assert asked == [(1, 1), (1, 4), (2, 5), (3, 5), (4, 5)]


def test_a_poll_that_waits_learns_of_the_first_large_message_before_it_can_come(
    api: Api, clock: Clock, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = api.queue(dlq=True, max_receive_count=1)
    polled, asked = leases.poll, []

    def poll(url: str, most: int, wait: int, visibility: int) -> list[Any]:
        asked.append(most)
        if len(asked) > 1:
            return list(polled(url, most, wait, visibility))
        for _ in range(2):
            api.send(queue, '"' * (1024 * 1024))
        clock.passed += sum(slept)
        return []

    monkeypatch.setattr(leases, "poll", poll)
    assert len(api.receive(queue, wait=20, max=10)) == 1
    assert asked == [10, 1]
    counts = api("GET", f"/v1/queue/{queue}/attributes").json
    assert (counts["depth"], counts["in_flight"], counts["dlq_depth"]) == (1, 1, 0)


def test_a_poll_that_waits_ends_with_its_queue(api: Api, calls: Calls) -> None:
    queue = api.queue()
    calls.fail("ReceiveMessage", {}, lambda: api("DELETE", f"/v1/queue/{queue}"))
    answer = api("GET", f"/v1/queue/{queue}/messages", wait=20)
    assert (answer.status, answer.code) == (404, "not_found")


def test_a_receive_waits_and_leases_as_told_and_is_tried_once(api: Api, calls: Calls) -> None:
    queue = api.queue(visibility_timeout=45)
    api.receive(queue, max=7, wait=0)
    calls.fail("ReceiveMessage", {}, {}, {}, aws_fault("InternalError", 500))
    api("GET", f"/v1/queue/{queue}/messages")
    api("GET", f"/v1/queue/{queue}/messages", wait=3, visibility=0)
    assert api("GET", f"/v1/queue/{queue}/messages").status == 503
    asked = [
        (call["MaxNumberOfMessages"], call["WaitTimeSeconds"], call["VisibilityTimeout"])
        for call in calls.arguments("ReceiveMessage")
    ]
    assert asked == [(7, 0, 45), (1, 1, 45), (1, 1, 0), (1, 2, 0), (1, 1, 45)]


def test_a_wait_leaves_time_for_the_answer(api: Api, calls: Calls) -> None:
    queue = api.queue()
    api.context.seconds = 15
    calls.fail("ReceiveMessage", {}, {}, {})
    api("GET", f"/v1/queue/{queue}/messages", wait=20)
    assert sum(call["WaitTimeSeconds"] for call in calls.arguments("ReceiveMessage")) in (9, 10)


def test_a_changed_visibility_timeout_is_used_by_the_next_receive(api: Api, calls: Calls) -> None:
    queue = api.queue()
    api("PATCH", f"/v1/queue/{queue}", {"visibility_timeout": 5})
    api.receive(queue)
    assert calls.arguments("ReceiveMessage")[0]["VisibilityTimeout"] == 5


def test_too_many_in_flight_is_a_conflict(api: Api, calls: Calls) -> None:
    queue = api.queue()
    calls.fail("ReceiveMessage", aws_fault("OverLimit", 403))
    answer = api("GET", f"/v1/queue/{queue}/messages")
    assert (answer.status, answer.code) == (409, "conflict")
    assert answer.json["error"]["details"] == {"reason": "in_flight_limit"}


def test_a_second_ack_of_a_handle_is_fine_and_so_is_a_late_one(api: Api) -> None:
    queue = api.queue()
    api.send(queue)
    (message,) = api.receive(queue, visibility=0)
    path = f"/v1/queue/{queue}/messages"
    for _ in range(2):
        assert api("DELETE", path, receipt_handle=message["receipt_handle"]).status == 204


@pytest.mark.parametrize("code", ["ReceiptHandleIsInvalid", "InvalidParameterValue", "MessageNotInflight"])
def test_on_standard_sqs_never_refuses_an_ack_of_ours(api: Api, calls: Calls, code: str) -> None:
    queue = api.queue()
    api.send(queue)
    handles = {"receipt_handle": api.receive(queue)[0]["receipt_handle"]}
    calls.fail("DeleteMessage", aws_fault(code))
    assert api("DELETE", f"/v1/queue/{queue}/messages", **handles).status == 204
    calls.fail("DeleteMessageBatch", {"Failed": [{"Id": "0", "SenderFault": True, "Code": code}]})
    settled = api("POST", f"/v1/queue/{queue}/messages/settle", {"ack": list(handles.values())})
    assert settled.json == {"ack": [{"ok": True}], "retry": [], "extend": []}


def test_on_fifo_an_ack_after_the_lease_is_expired(api: Api, calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = api.queue("orders", type="fifo")
    api.send(queue, group_id="g")
    handle = api.receive(queue, visibility=30)[0]["receipt_handle"]
    path = f"/v1/queue/{queue}/messages"

    calls.fail("DeleteMessage", aws_fault("ReceiptHandleIsInvalid"))  # how the emulator sees a second ack
    assert api("DELETE", path, receipt_handle=handle).status == 204
    calls.fail("DeleteMessage", aws_fault("InvalidParameterValue"))
    answer = api("DELETE", path, receipt_handle=handle)
    assert (answer.status, answer.code) == (400, "receipt_expired")
    later = time.time() + 31
    monkeypatch.setattr(time, "time", lambda: later)
    calls.fail("DeleteMessage", aws_fault("ReceiptHandleIsInvalid"))
    assert api("DELETE", path, receipt_handle=handle).code == "receipt_expired"
    calls.fail("DeleteMessageBatch", {"Failed": [{"Id": "0", "SenderFault": True, "Code": "InvalidParameterValue"}]})
    settled = api("POST", f"{path}/settle", {"ack": [handle]}).json
    assert settled["ack"][0]["error"]["code"] == "receipt_expired"


@pytest.mark.parametrize("code", ["ReceiptHandleIsInvalid", "InvalidParameterValue", "MessageNotInflight"])
def test_a_change_after_the_lease_is_expired(api: Api, calls: Calls, code: str) -> None:
    queue = api.queue()
    api.send(queue)
    handle = api.receive(queue)[0]["receipt_handle"]
    path = f"/v1/queue/{queue}/messages"
    calls.fail("ChangeMessageVisibility", aws_fault(f"AWS.SimpleQueueService.{code}"))
    answer = api("PATCH", path, {"receipt_handle": handle, "visibility": 10})
    assert (answer.status, answer.code) == (400, "receipt_expired")
    calls.fail("ChangeMessageVisibilityBatch", {"Failed": [{"Id": "0", "SenderFault": True, "Code": code}]})
    settled = api("POST", f"{path}/settle", {"extend": [{"receipt_handle": handle, "visibility": 9}]})
    assert settled.json["extend"][0]["error"]["code"] == "receipt_expired"


def test_a_lease_can_be_extended_and_given_back(api: Api) -> None:
    queue = api.queue()
    api.send(queue)
    handle = api.receive(queue)[0]["receipt_handle"]
    path = f"/v1/queue/{queue}/messages"
    answer = api("PATCH", path, {"receipt_handle": handle, "visibility": 600})
    assert (answer.status, set(answer.json)) == (200, {"lease_expires_at"})
    assert 598 < seconds_from_now(answer.json["lease_expires_at"]) <= 600
    assert api.receive(queue) == []
    assert api("PATCH", path, {"receipt_handle": handle, "visibility": 0}).status == 200
    assert api.receive(queue)[0]["receive_count"] == 2


def test_no_lease_outlives_twelve_hours(api: Api, calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = api.queue()
    api.send(queue)
    handle = api.receive(queue)[0]["receipt_handle"]
    later = time.time() + 40_000
    monkeypatch.setattr(time, "time", lambda: later)
    calls.fail("ChangeMessageVisibility", {})
    answer = api("PATCH", f"/v1/queue/{queue}/messages", {"receipt_handle": handle, "visibility": 43_200})
    (asked,) = calls.arguments("ChangeMessageVisibility")
    assert 3_190 <= asked["VisibilityTimeout"] <= 3_200
    assert answer.status == 200
    assert seconds_from_now(answer.json["lease_expires_at"]) <= 3_200


@pytest.mark.parametrize("handle", ["", "x", "x" * 2001, "é", "a b", "AAAA", "A" * 64, "%00"])
def test_a_garbled_handle_is_receipt_invalid_everywhere(api: Api, calls: Calls, handle: str) -> None:
    queue = api.queue()
    path = f"/v1/queue/{queue}/messages"
    answers = [
        api("DELETE", path, receipt_handle=handle),
        api("PATCH", path, {"receipt_handle": handle, "visibility": 1}),
    ]
    assert [(answer.status, answer.code) for answer in answers] == [(400, "receipt_invalid")] * 2
    assert handle not in answers[0].json["error"]["message"] or len(handle) < 3
    settled = api(
        "POST",
        f"{path}/settle",
        {
            "ack": [handle],
            "retry": [{"receipt_handle": handle}],
            "extend": [{"receipt_handle": handle, "visibility": 1}],
        },
    )
    assert settled.status == 200
    assert {entry[0]["error"]["code"] for entry in settled.json.values()} == {"receipt_invalid"}
    assert not {"DeleteMessage", "ChangeMessageVisibility", "DeleteMessageBatch"} & set(calls.names())


def test_a_handle_of_another_queue_is_receipt_invalid_and_harmless(api: Api, stranger: Api) -> None:
    queue, other = api.queue("a"), stranger.queue("b")
    api.send(queue)
    handle = api.receive(queue)[0]["receipt_handle"]
    answer = stranger("DELETE", f"/v1/queue/{other}/messages", receipt_handle=handle)
    assert (answer.status, answer.code) == (400, "receipt_invalid")
    assert api("GET", f"/v1/queue/{queue}/attributes").json["in_flight"] == 1


def test_settle_does_each_entry_alone_and_in_order(api: Api) -> None:
    queue = api.queue()
    for number in range(6):
        api.send(queue, str(number))
    handles = [message["receipt_handle"] for message in api.receive(queue, max=10)]
    answer = api(
        "POST",
        f"/v1/queue/{queue}/messages/settle",
        {
            "ack": [handles[0], "garbled", handles[1]],
            "retry": [{"receipt_handle": handles[2]}, {"receipt_handle": handles[3], "delay_seconds": 60}],
            "extend": [{"receipt_handle": handles[4], "visibility": 90}],
        },
    )
    assert answer.status == 200
    settled = answer.json
    assert [entry.get("ok") for entry in settled["ack"]] == [True, None, True]
    assert settled["ack"][1]["error"]["code"] == "receipt_invalid"
    assert settled["retry"] == [{"ok": True}, {"ok": True}]
    assert 88 < seconds_from_now(settled["extend"][0]["lease_expires_at"]) <= 90
    counts = api("GET", f"/v1/queue/{queue}/attributes").json
    assert (counts["depth"], counts["in_flight"]) == (1, 3)


def test_a_bad_entry_of_a_settle_fails_alone_whatever_is_wrong_with_it(api: Api) -> None:
    queue = api.queue()
    (handle,) = api.leased(queue, 1)
    asked = {
        "ack": [None, 5, {"receipt_handle": handle}, handle],
        "retry": [
            "x",
            {"receipt_handle": handle, "delay_seconds": 43_201},
            {"receipt_handle": handle, "visibility": 1},
        ],
        "extend": [{"receipt_handle": handle}, {"visibility": 1}, {"receipt_handle": handle, "visibility": "9"}],
    }
    answer = api("POST", f"/v1/queue/{queue}/messages/settle", asked)
    assert answer.status == 200
    assert answer.json["ack"][3] == {"ok": True}
    errors = [entry["error"] for entries in answer.json.values() for entry in entries if "error" in entry]
    assert len(errors) == 9
    assert {error["code"] for error in errors} == {"invalid_input"}
    messages = [error["message"] for error in errors]
    assert "delay_seconds must be a whole number from 0 to 43200, not 43201" in messages
    assert "unknown field 'visibility'; known: receipt_handle, delay_seconds" in messages
    assert "visibility is required: a whole number from 0 to 43200" in messages
    assert "a JSON object is expected" in messages


def test_settle_takes_a_hundred_entries_in_ten_calls(api: Api, calls: Calls) -> None:
    queue = api.queue()
    handles = api.leased(queue, 100)
    before = len(calls.made)
    answer = api("POST", f"/v1/queue/{queue}/messages/settle", {"ack": handles})
    assert answer.json["ack"] == [{"ok": True}] * 100
    assert calls.names()[before:] == ["BatchGetItem", *["DeleteMessageBatch"] * 10]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"ack": []},
        {"ack": ["x"] * 101},
        {"ack": ["x"] * 60, "retry": [{"receipt_handle": "x"}] * 41},
        {"ack": "x"},
        {"nack": ["x"]},
    ],
)
def test_a_bad_settle_is_refused(api: Api, body: Any) -> None:
    answer = api("POST", f"/v1/queue/{api.queue()}/messages/settle", body)
    assert (answer.status, answer.code) == (400, "invalid_input")


def test_settle_reports_what_was_done_when_sqs_stops_answering(api: Api, calls: Calls) -> None:
    queue = api.queue()
    handles = api.leased(queue, 21)
    path = f"/v1/queue/{queue}/messages/settle"
    calls.fail("DeleteMessageBatch", None, aws_fault("ServiceUnavailable", 503))
    extend = [{"receipt_handle": handles[20], "visibility": 5}]
    answer = api("POST", path, {"ack": handles[:20], "extend": extend})
    assert [entry.get("ok") for entry in answer.json["ack"]] == [True] * 10 + [None] * 10
    assert answer.json["ack"][10]["error"]["code"] == "unavailable"
    assert answer.json["extend"][0]["error"]["code"] == "unavailable"
    calls.fail("DeleteMessageBatch", aws_fault("ServiceUnavailable", 503))
    assert api("POST", path, {"ack": handles[20:]}).status == 503


def test_large_messages_are_leased_one_by_one_as_long_as_the_worst_still_fits(api: Api) -> None:
    queue = api.queue()
    for number in range(3):
        api.send(queue, str(number) + '"' * (1024 * 1024 - 1))
    answer = api("GET", f"/v1/queue/{queue}/messages", max=10, wait=0)
    assert len(answer.json["messages"]) == 1
    counts = api("GET", f"/v1/queue/{queue}/attributes").json
    assert (counts["depth"], counts["in_flight"]) == (2, 1)


@pytest.mark.parametrize("visibility", [0, 3])
@pytest.mark.parametrize("type", ["standard", "fifo"])
def test_a_large_queue_gives_a_message_once_however_short_its_lease(api: Api, type: str, visibility: int) -> None:
    queue = api.queue(type=type, dlq=True)
    api.send(queue, "x" * 200_000, **({"group_id": "g"} if type == "fifo" else {}))
    (message,) = api.receive(queue, max=10, visibility=visibility)
    assert message["receive_count"] == 1


def test_a_surprise_by_large_messages_happens_once(api: Api) -> None:
    queue = api.queue()
    native = boto3.client("sqs")
    for _ in range(4):
        native.send_message(QueueUrl=url_of(queue), MessageBody='"' * (1024 * 1024))
    received = [api.receive(queue, max=10)[0]["receive_count"] for _ in range(4)]
    assert sorted(received) == [1, 2, 2, 2]


def test_a_large_queue_still_gives_many_small_messages(api: Api) -> None:
    queue = api.queue()
    api.send(queue, "x" * 200_000)
    for number in range(9):
        api.send(queue, str(number))
    assert len(api.receive(queue, max=10)) == 10


def test_what_somebody_sent_past_us_and_does_not_fit_is_given_back(api: Api) -> None:
    queue = api.queue()
    native = boto3.client("sqs")
    for _ in range(3):
        native.send_message(QueueUrl=url_of(queue), MessageBody='"' * (1024 * 1024))
    answer = api("GET", f"/v1/queue/{queue}/messages", max=10, wait=0)
    assert len(answer.json["messages"]) == 1
    counts = api("GET", f"/v1/queue/{queue}/attributes").json
    assert (counts["depth"], counts["in_flight"]) == (2, 1)


def test_what_is_leased_is_answered_although_the_next_receive_fails(api: Api, calls: Calls) -> None:
    queue = api.queue()
    api.send(queue, "x" * 200_000)
    api.send(queue, "y")
    calls.fail("ReceiveMessage", None, aws_fault("InternalError", 500))
    assert len(api.receive(queue, max=10)) == 1


@pytest.mark.parametrize("code", ["InternalError", "AccessDenied"])
def test_what_fits_is_answered_although_the_rest_cannot_be_given_back(api: Api, calls: Calls, code: str) -> None:
    queue = api.queue()
    native = boto3.client("sqs")
    for _ in range(2):
        native.send_message(QueueUrl=url_of(queue), MessageBody='"' * (1024 * 1024))
    calls.fail("ChangeMessageVisibilityBatch", aws_fault(code, 500))
    assert len(api.receive(queue, max=10)) == 1


def test_no_answer_outgrows_lambda() -> None:
    worst: Any = {
        "message_id": "m" * 36,
        "body": '"' * messages.MAX_BYTES,
        "receive_count": 1,
        "sent_at": "t" * 24,
        "group_id": '"' * 128,
        "dedup_id": '"' * 128,
        "sequence_number": "9" * 20,
        "receipt_handle": "h" * receipts.MAX_LENGTH,
        "lease_expires_at": "t" * 24,
    }
    assert messages.answered_bytes(worst) <= messages._at_most_bytes(worst) <= messages.WORST_BYTES
    ten: list[Any] = [{**worst, "body": '"' * messages.LARGE_BYTES}] * 10
    assert sum(map(messages.answered_bytes, ten)) <= messages.ANSWER_BYTES


@given(st.characters(exclude_categories=["Cs"]).filter(lambda character: not drafts._REFUSED.match(character)))
@example('"')
@example("\n")
@example("\U0010ffff")
def test_no_message_takes_more_than_its_bound(character: str) -> None:
    body, attributes = character * 20_000, {"name": character * 20_000}
    message: Any = {
        "message_id": "m" * 36,
        "body": body,
        "receive_count": 1,
        "sent_at": "t" * 24,
        "attributes": attributes,
        "receipt_handle": "h" * receipts.MAX_LENGTH,
        "lease_expires_at": "t" * 24,
    }
    assert messages.answered_bytes(message) <= messages._at_most_bytes(message)


def test_native_attributes_are_shown_as_text(api: Api) -> None:
    queue = api.queue()
    boto3.client("sqs").send_message(
        QueueUrl=url_of(queue),
        MessageBody="x",
        MessageAttributes={
            "number": {"DataType": "Number.float", "StringValue": "1.50"},
            "binary": {"DataType": "Binary", "BinaryValue": b"\xff\x00"},
        },
    )
    (message,) = api.receive(queue)
    assert message["attributes"] == {"number": "1.50", "binary": "/wA="}
