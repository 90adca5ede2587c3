"""Messages are sent as they are, or refused with what is wrong."""

import json
import time
from typing import Any

import pytest

from tenancy import auth, messages
from tests.integration.conftest import Api, Calls, aws_fault, forget_grants

MEBIBYTE = 1024 * 1024


@pytest.mark.parametrize(
    "body",
    [
        "x",
        " leading and trailing \n",
        "line\r\nline\rline\n",
        '{"a":1}',
        '{"a": 1.0, "a": 2}',
        "cGFy",
        "[[[[{{{",
        "null",
        "emoji 😀 👩‍👩‍👧 é e\u0301 \u200b \ufeff",
        "\ufffd \ud7ff \ue000 \U00010000 \U0010ffff \x7f \x85 \u2028",
        "<xml>&amp;&#13;</xml>",
        "\t",
        "%41 + %00 ?",
    ],
)
def test_a_body_comes_back_as_it_was_sent(api: Api, body: str) -> None:
    queue = api.queue()
    api.send(queue, body)
    (message,) = api.receive(queue)
    assert message["body"] == body


@pytest.mark.parametrize(
    ("body", "index", "code_point"),
    [
        ("\uffff", 0, "U+FFFF"),
        ("ab\ufffe", 2, "U+FFFE"),
        ("😀\x00", 1, "U+0000"),
        ("\ud800", 0, "U+D800"),
        ("😀😀\udc00x", 2, "U+DC00"),
        ("\x0b", 0, "U+000B"),
    ],
)
def test_a_character_that_sqs_refuses_is_named_with_its_place(api: Api, body: str, index: int, code_point: str) -> None:
    answer = api("POST", f"/v1/queue/{api.queue()}/messages", {"body": body})
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert answer.json["error"]["details"] == {"field": "body", "index": index, "code_point": code_point}
    assert answer.json["error"]["message"].startswith("body must not have the character")


def test_such_a_character_is_refused_in_an_attribute_too(api: Api) -> None:
    attributes = {"a": "fine", "b": "x\ufffe"}
    answer = api("POST", f"/v1/queue/{api.queue()}/messages", {"body": "x", "attributes": attributes})
    assert answer.json["error"]["details"] == {"field": "attributes.b", "index": 1, "code_point": "U+FFFE"}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "body is required"),
        ({"body": ""}, "body must be a string of at least 1 byte"),
        ({"body": None}, "body is required"),
        ({"body": 7}, "body must be a string of at least 1 byte"),
        ({"body": {"a": 1}}, "body must be a string of at least 1 byte"),
        ({"body": "x", "group_id": ""}, "group_id must be a string of 1 to 128 characters from ! to ~"),
        ({"body": "x", "group_id": "g" * 129}, "group_id must be a string of 1 to 128 characters"),
        ({"body": "x", "group_id": "a b"}, "group_id must be a string of 1 to 128 characters"),
        ({"body": "x", "group_id": "é"}, "group_id must be a string of 1 to 128 characters"),
        ({"body": "x", "dedup_id": "d"}, "dedup_id is for fifo queues"),
        ({"body": "x", "delay_seconds": 901}, "delay_seconds must be a whole number from 0 to 900, not 901"),
        ({"body": "x", "delay_seconds": -1}, "delay_seconds must be a whole number from 0 to 900, not -1"),
        ({"body": "x", "delay_seconds": "5"}, "delay_seconds must be a whole number from 0 to 900, not '5'"),
        ({"body": "x", "attributes": {f"a{n}": "v" for n in range(11)}}, "attributes must be an object of at most 10"),
        ({"body": "x", "attributes": {"a": ""}}, "attributes: a must be a string of at least 1 byte"),
        ({"body": "x", "attributes": {"a": 1}}, "attributes: a must be a string of at least 1 byte"),
        ({"body": "x", "attributes": {"a": None}}, "attributes: a must be a string of at least 1 byte"),
        ({"body": "x", "attributes": {"": "v"}}, "the name '' must be 1 to 256 characters"),
        ({"body": "x", "attributes": {"a" * 257: "v"}}, "must be 1 to 256 characters from A-Z a-z 0-9 _ - ."),
        ({"body": "x", "attributes": {"a b": "v"}}, "the name 'a b' must be 1 to 256 characters"),
        ({"body": "x", "attributes": {"\ud800": "v"}}, "must be 1 to 256 characters"),
        ({"body": "x", "attributes": {"AWS.x": "v"}}, "must not start with AWS."),
        ({"body": "x", "attributes": {"amazon.x": "v"}}, "must not start with AWS."),
        ({"body": "x", "attributes": {"a..b": "v"}}, "two in a row"),
        ({"body": "x", "attributes": {"a.": "v"}}, "end with one"),
        ({"body": "x", "attributes": []}, "attributes must be an object"),
        ({"body": "x", "priority": 1}, "unknown field 'priority'; known: body, group_id"),
    ],
)
def test_a_bad_message_is_refused(api: Api, calls: Calls, fields: Any, says: str) -> None:
    queue = api.queue()
    answer = api("POST", f"/v1/queue/{queue}/messages", fields)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert says in answer.json["error"]["message"]
    assert "SendMessage" not in calls.names()


def test_attributes_and_a_fairness_group_travel_on_standard(api: Api, calls: Calls) -> None:
    queue = api.queue()
    attributes = {"trace.id": "00-ab", "tenant_1": "é 😀", "A-b": " "}
    api.send(queue, "x", attributes=attributes, group_id="u1")
    (message,) = api.receive(queue)
    assert message["attributes"] == attributes
    assert calls.arguments("SendMessage")[0]["MessageGroupId"] == "u1"


def test_a_delay_is_the_messages_or_the_queues(api: Api, calls: Calls) -> None:
    queue = api.queue(delay_seconds=9)
    api.send(queue)
    api.send(queue, delay_seconds=0)
    assert [sent["DelaySeconds"] for sent in calls.arguments("SendMessage")] == [9, 0]


def test_fifo_needs_a_group_and_no_delay(api: Api) -> None:
    queue = api.queue("orders", type="fifo")
    path = f"/v1/queue/{queue}/messages"
    assert "group_id is required on a fifo queue" in api("POST", path, {"body": "x"}).json["error"]["message"]
    late = api("POST", path, {"body": "x", "group_id": "g", "delay_seconds": 5})
    assert (late.status, late.json["error"]["details"]) == (400, {"field": "delay_seconds"})
    assert "fifo" in late.json["error"]["message"]
    assert api("POST", path, {"body": "x", "group_id": "g", "delay_seconds": 0}).status == 201


def test_without_content_based_dedup_fifo_needs_an_id(api: Api) -> None:
    queue = api.queue("orders", type="fifo", content_based_dedup=False)
    answer = api("POST", f"/v1/queue/{queue}/messages", {"body": "x", "group_id": "g"})
    assert "dedup_id is required" in answer.json["error"]["message"]
    api.send(queue, "x", group_id="g", dedup_id="d")
    (message,) = api.receive(queue)
    assert (message["group_id"], message["dedup_id"]) == ("g", "d")


def test_the_limit_is_a_mebibyte_in_bytes_with_the_attributes(api: Api) -> None:
    queue = api.queue()
    path = f"/v1/queue/{queue}/messages"
    attributes = {"name": "value"}
    rest = MEBIBYTE - len("name") - len("String") - len("value")
    assert api("POST", path, {"body": "é" * (MEBIBYTE // 2)}).status == 201
    assert api("POST", path, {"body": "x" * rest, "attributes": attributes}).status == 201
    for body in ({"body": "é" * (MEBIBYTE // 2) + "x"}, {"body": "x" * (rest + 1), "attributes": attributes}):
        answer = api("POST", path, body)
        assert (answer.status, answer.code) == (413, "payload_too_large")
        assert f"at most {MEBIBYTE} bytes together, not {MEBIBYTE + 1}" in answer.json["error"]["message"]


def test_a_batch_answers_in_order_and_one_bad_entry_fails_alone(api: Api) -> None:
    queue = api.queue()
    entries: list[Any] = [
        {"body": "a"},
        {"body": "\uffff"},
        {"body": ""},
        "not an object",
        None,
        {"body": "x" * (MEBIBYTE + 1)},
        {"body": "b", "dedup_id": "d"},
        {"body": "c", "unknown": 1},
        {"body": "d", "attributes": {"k": "v"}},
    ]
    answer = api("POST", f"/v1/queue/{queue}/messages/batch", {"messages": entries})
    assert answer.status == 200
    codes = [result["error"]["code"] if "error" in result else "sent" for result in answer.json["results"]]
    bad = "invalid_input"
    assert codes == ["sent", bad, bad, bad, bad, "payload_too_large", bad, bad, "sent"]
    assert all(set(result["error"]) == {"code", "message"} for result in answer.json["results"] if "error" in result)
    assert "U+FFFF, which is at index 0" in answer.json["results"][1]["error"]["message"]
    assert sorted(message["body"] for message in api.receive(queue, max=10)) == ["a", "d"]


def test_a_batch_of_a_hundred_takes_ten_calls(api: Api, calls: Calls) -> None:
    queue = api.queue()
    answer = api("POST", f"/v1/queue/{queue}/messages/batch", {"messages": [{"body": str(n)} for n in range(100)]})
    assert len({result["message_id"] for result in answer.json["results"]}) == 100
    assert calls.names().count("SendMessageBatch") == 10


def test_a_batch_is_packed_by_bytes_too(api: Api, calls: Calls) -> None:
    queue = api.queue()
    entries = [{"body": "x" * 400_000} for _ in range(4)]
    answer = api("POST", f"/v1/queue/{queue}/messages/batch", {"messages": entries})
    assert all("message_id" in result for result in answer.json["results"])
    assert [len(call["Entries"]) for call in calls.arguments("SendMessageBatch")] == [2, 2]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "messages is required: a list of 1 to 100"),
        ({"messages": []}, "messages must be a list of 1 to 100"),
        ({"messages": [{"body": "x"}] * 101}, "messages must be a list of 1 to 100"),
        ({"messages": {"body": "x"}}, "messages must be a list of 1 to 100"),
    ],
)
def test_a_batch_that_is_none_is_refused(api: Api, body: Any, says: str) -> None:
    answer = api("POST", f"/v1/queue/{api.queue()}/messages/batch", body)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert says in answer.json["error"]["message"]


def test_a_batch_request_of_more_than_two_mebibytes_is_too_large(api: Api) -> None:
    path = f"/v1/queue/{api.queue()}/messages/batch"
    raw = json.dumps({"messages": [{"body": "x" * 1_000_000}] * 2})
    assert api("POST", path, raw=raw + " " * (2 * MEBIBYTE - len(raw))).status == 200
    answer = api("POST", path, raw=raw + " " * (2 * MEBIBYTE - len(raw) + 1))
    assert (answer.status, answer.code) == (413, "payload_too_large")


def test_entries_that_sqs_fails_are_unavailable_and_the_others_sent(api: Api, calls: Calls) -> None:
    queue = api.queue()
    failed = {"Id": "1", "SenderFault": False, "Code": "InternalError", "Message": "arn:aws:sqs:secret"}
    calls.fail("SendMessageBatch", {"Successful": [{"Id": "0", "MessageId": "m0"}], "Failed": [failed]})
    answer = api("POST", f"/v1/queue/{queue}/messages/batch", {"messages": [{"body": "a"}, {"body": "b"}]})
    assert answer.json["results"][0] == {"message_id": "m0"}
    assert answer.json["results"][1]["error"]["code"] == "unavailable"
    assert "arn:" not in answer.text


def test_on_fifo_what_follows_a_failed_entry_of_its_group_is_not_sent(api: Api, calls: Calls) -> None:
    queue = api.queue("orders", type="fifo")
    groups = ["a", "b", "a", "b", "a"]
    entries = [{"body": str(n), "group_id": group} for n, group in enumerate(groups)]
    failed = {"Id": "0", "SenderFault": False, "Code": "InternalError"}
    calls.fail("SendMessageBatch", {"Successful": [{"Id": "1", "MessageId": "m1"}], "Failed": [failed]})
    results = api("POST", f"/v1/queue/{queue}/messages/batch", {"messages": entries}).json["results"]
    assert ["message_id" in result for result in results] == [False, True, False, True, False]
    assert {results[n]["error"]["code"] for n in (0, 2, 4)} == {"unavailable"}
    sent = [entry["MessageBody"] for call in calls.arguments("SendMessageBatch") for entry in call["Entries"]]
    assert sent == ["0", "1", "3"]


def test_on_fifo_a_batch_keeps_the_order_of_each_group(api: Api) -> None:
    queue = api.queue("orders", type="fifo")
    entries = [{"body": f"{group}{n}", "group_id": group} for n in range(4) for group in "ab"]
    api("POST", f"/v1/queue/{queue}/messages/batch", {"messages": entries})
    bodies = [message["body"] for message in api.receive(queue, max=10)]
    assert [body for body in bodies if body[0] == "a"] == ["a0", "a1", "a2", "a3"]
    assert [body for body in bodies if body[0] == "b"] == ["b0", "b1", "b2", "b3"]


def test_a_batch_of_which_sqs_takes_nothing_is_503(api: Api, calls: Calls) -> None:
    queue = api.queue()
    calls.fail("SendMessageBatch", aws_fault("ServiceUnavailable", 503))
    answer = api("POST", f"/v1/queue/{queue}/messages/batch", {"messages": [{"body": "a"}]})
    assert (answer.status, answer.code) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) > 0


def test_a_batch_that_breaks_off_says_what_was_sent(api: Api, calls: Calls) -> None:
    queue = api.queue()
    calls.fail("SendMessageBatch", None, aws_fault("ServiceUnavailable", 503))
    entries = [{"body": str(n)} for n in range(25)]
    results = api("POST", f"/v1/queue/{queue}/messages/batch", {"messages": entries}).json["results"]
    assert ["message_id" in result for result in results] == [True] * 10 + [False] * 15
    assert {result["error"]["code"] for result in results[10:]} == {"unavailable"}
    assert calls.names().count("SendMessageBatch") == 2


def test_a_batch_stops_in_time_for_its_answer(api: Api, calls: Calls) -> None:
    queue = api.queue()
    api.context.seconds = 5
    entries = [{"body": str(n)} for n in range(25)]
    results = api("POST", f"/v1/queue/{queue}/messages/batch", {"messages": entries}).json["results"]
    assert ["message_id" in result for result in results] == [True] * 10 + [False] * 15
    assert calls.names().count("SendMessageBatch") == 1


def test_the_first_large_message_marks_its_queue_before_it_is_sent(api: Api, calls: Calls, slept: list[float]) -> None:
    queue = api.queue()
    api.send(queue, "x" * messages.LARGE_BYTES)
    assert calls.names()[-2:] == ["BatchGetItem", "SendMessage"]
    assert slept == []
    before = len(calls.made)
    api.send(queue, "x" * (messages.LARGE_BYTES + 1))
    assert calls.names()[before:] == ["UpdateItem", "SendMessage"]


def test_the_first_large_message_waits_until_every_receive_knows_and_the_next_ones_do_not(
    api: Api, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = api.queue()
    api.send(queue, "x" * 200_000)
    assert auth.CACHE_SECONDS + 1 <= slept[0] <= auth.CACHE_SECONDS + 2
    later = time.time() + auth.CACHE_SECONDS + 2
    monkeypatch.setattr(time, "time", lambda: later)
    for forget in (False, True):
        if forget:
            forget_grants()
        api.send(queue, "x" * 200_000)
    assert slept[1:] == []


def test_a_send_costs_one_read_and_one_call_and_then_one_call(api: Api, calls: Calls) -> None:
    queue = api.queue()
    before = len(calls.made)
    api.send(queue)
    api.send(queue)
    assert calls.names()[before:] == ["BatchGetItem", "SendMessage", "SendMessage"]
