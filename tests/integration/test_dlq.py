"""Dead letters are looked at without being taken, and moved back without one being lost."""

from typing import Any

import boto3
import pytest

from tenancy import table
from tests.integration.conftest import Api, Calls, aws_fault


def kill(api: Api, queue: str, number: int = 1, prefix: str = "dead", **fields: Any) -> list[str]:
    """Send so many messages to a queue with one receive and let them die; the answer is their ids."""
    ids = [api.send(queue, f"{prefix}{index}", **fields) for index in range(number)]
    while api.receive(queue, max=10, visibility=0):
        pass
    return ids


def dlq_url(queue: str) -> str:
    return str(table.read([("QUEUE#" + queue, "QUEUE")])["QUEUE#" + queue, "QUEUE"]["dlq_url"])


@pytest.fixture
def queue(api: Api) -> str:
    """A queue whose messages die after one receive."""
    return api.queue(dlq=True, max_receive_count=1)


def test_a_message_dies_after_exactly_so_many_receives(api: Api) -> None:
    queue = api.queue(dlq=True, max_receive_count=3)
    api.send(queue)
    counts = [message["receive_count"] for _ in range(5) for message in api.receive(queue, visibility=0)]
    assert counts == [1, 2, 3]
    assert api("GET", f"/v1/queue/{queue}/attributes").json["dlq_depth"] == 1


def test_a_look_shows_the_letter_and_leaves_it(api: Api, queue: str) -> None:
    (message_id,) = kill(api, queue, attributes={"k": "v"})
    for _ in range(2):
        answer = api("GET", f"/v1/queue/{queue}/dlq/messages")
        assert answer.status == 200
        (letter,) = answer.json["messages"]
        assert set(letter) == {"message_id", "body", "receive_count", "sent_at", "attributes"}
        assert (letter["message_id"], letter["body"], letter["attributes"]) == (message_id, "dead0", {"k": "v"})
    assert api("GET", f"/v1/queue/{queue}/attributes").json["dlq_depth"] == 1


def test_a_look_takes_at_most_max(api: Api, queue: str) -> None:
    kill(api, queue, 3)
    assert len(api("GET", f"/v1/queue/{queue}/dlq/messages", max=2).json["messages"]) == 2
    for bad in (0, 11):
        answer = api("GET", f"/v1/queue/{queue}/dlq/messages", max=bad)
        assert "max must be a whole number from 1 to 10" in answer.json["error"]["message"]


def test_large_letters_are_shown_as_many_as_fit(api: Api, queue: str) -> None:
    for _ in range(2):
        api.send(queue, '"' * (1024 * 1024))
    while api.receive(queue, max=10, visibility=0):
        pass
    assert len(api("GET", f"/v1/queue/{queue}/dlq/messages").json["messages"]) == 1


def test_a_redrive_moves_the_letters_as_they_were(api: Api, queue: str) -> None:
    (message_id,) = kill(api, queue, attributes={"k": "é"}, group_id="u1")
    answer = api("POST", f"/v1/queue/{queue}/redrive")
    assert answer.status == 200
    assert answer.json == {"moved": 1, "remaining": 0, "not_found": [], "not_reached": []}
    (message,) = api.receive(queue)
    assert (message["body"], message["attributes"], message["receive_count"]) == ("dead0", {"k": "é"}, 1)
    assert message["message_id"] != message_id


def test_a_redrive_keeps_native_attributes(api: Api, queue: str, calls: Calls) -> None:
    attributes = {
        "number": {"DataType": "Number.int", "StringValue": "7"},
        "binary": {"DataType": "Binary", "BinaryValue": b"\xff\x00"},
    }
    boto3.client("sqs").send_message(QueueUrl=dlq_url(queue), MessageBody="x", MessageAttributes=attributes)  # type: ignore[arg-type]
    assert api("POST", f"/v1/queue/{queue}/redrive", {}).json["moved"] == 1
    (call,) = calls.arguments("SendMessageBatch")
    assert call["Entries"][0]["MessageAttributes"] == attributes


def test_a_redrive_moves_up_to_max(api: Api, queue: str) -> None:
    kill(api, queue, 25)
    answer = api("POST", f"/v1/queue/{queue}/redrive", {"max": 12}).json
    assert (answer["moved"], answer["remaining"]) == (12, 13)
    assert api("POST", f"/v1/queue/{queue}/redrive").json["moved"] == 13


def test_a_redrive_by_id_leaves_the_others_there_for_the_next_reader(api: Api, queue: str) -> None:
    ids = kill(api, queue, 15)
    answer = api("POST", f"/v1/queue/{queue}/redrive", {"message_ids": [ids[14], ids[3], "unknown"]}).json
    assert answer == {"moved": 2, "remaining": 13, "not_found": ["unknown"], "not_reached": []}
    assert sorted(message["body"] for message in api.receive(queue, max=10)) == ["dead14", "dead3"]
    assert len(api("GET", f"/v1/queue/{queue}/dlq/messages").json["messages"]) == 10


def test_an_id_that_somebody_else_holds_is_not_said_to_be_missing(api: Api, queue: str) -> None:
    (message_id,) = kill(api, queue)
    boto3.client("sqs").receive_message(QueueUrl=dlq_url(queue), VisibilityTimeout=60)
    answer = api("POST", f"/v1/queue/{queue}/redrive", {"message_ids": [message_id]}).json
    assert (answer["moved"], answer["not_found"], answer["not_reached"]) == (0, [], [message_id])


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"max": 0}, "max must be a whole number from 1 to 1000, not 0"),
        ({"max": 1001}, "max must be a whole number from 1 to 1000, not 1001"),
        ({"message_ids": []}, "message_ids must be a list of 1 to 100"),
        ({"message_ids": ["x"] * 101}, "message_ids must be a list of 1 to 100"),
        ({"message_ids": [1]}, "message_ids.0 must be the message_id of a dead letter, 1 to 100 characters, not 1"),
        ({"max": 1, "message_ids": ["x"]}, "give max or message_ids, not both"),
    ],
)
def test_a_bad_redrive_is_refused(api: Api, queue: str, body: Any, says: str) -> None:
    answer = api("POST", f"/v1/queue/{queue}/redrive", body)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert says in answer.json["error"]["message"]


def test_a_redrive_that_dies_between_send_and_delete_loses_nothing(api: Api, queue: str, calls: Calls) -> None:
    kill(api, queue)
    calls.fail("DeleteMessageBatch", aws_fault("InternalError", 500))
    assert api("POST", f"/v1/queue/{queue}/redrive").status == 503
    assert [message["body"] for message in api.receive(queue)] == ["dead0"]
    assert api("GET", f"/v1/queue/{queue}/attributes").json["dlq_depth"] == 1


def test_a_redrive_whose_queue_takes_nothing_leaves_the_letters(api: Api, queue: str, calls: Calls) -> None:
    kill(api, queue, 2)
    calls.fail("SendMessageBatch", aws_fault("QueueDoesNotExist"))
    assert api("POST", f"/v1/queue/{queue}/redrive").status == 404
    assert api("GET", f"/v1/queue/{queue}/attributes").json["dlq_depth"] == 2


def test_letters_that_sqs_does_not_take_back_are_there_at_once(api: Api, queue: str, calls: Calls) -> None:
    kill(api, queue, 2)
    failed = [{"Id": str(n), "SenderFault": False, "Code": "InternalError"} for n in range(2)]
    calls.fail("SendMessageBatch", {"Failed": failed})
    answer = api("POST", f"/v1/queue/{queue}/redrive").json
    assert (answer["moved"], answer["remaining"]) == (0, 2)
    assert len(api("GET", f"/v1/queue/{queue}/dlq/messages").json["messages"]) == 2


def test_a_redrive_stops_in_time_for_its_answer(api: Api, queue: str) -> None:
    kill(api, queue)
    api.context.seconds = 10
    assert api("POST", f"/v1/queue/{queue}/redrive").json["moved"] == 0


def test_on_fifo_a_redrive_keeps_group_and_order_and_is_delivered_in_the_window(api: Api, calls: Calls) -> None:
    queue = api.queue("orders", type="fifo", dlq=True, max_receive_count=1)
    for number in range(3):
        ids = kill(api, queue, prefix=f"m{number}-", group_id="g", dedup_id=f"d{number}")
    assert api("POST", f"/v1/queue/{queue}/redrive").json["moved"] == 3
    received = api.receive(queue, max=10)
    assert [(message["body"], message["group_id"]) for message in received] == [(f"m{n}-0", "g") for n in range(3)]
    # The copy's own deduplication id is the letter's id: the window of the first send does not swallow it.
    assert received[2]["dedup_id"] == ids[0]


def test_on_fifo_a_group_stops_at_its_first_failure(api: Api, calls: Calls) -> None:
    queue = api.queue("orders", type="fifo", dlq=True, max_receive_count=1)
    for number in range(3):
        kill(api, queue, prefix=f"m{number}-", group_id="g")
    failed = {"Id": "0", "SenderFault": False, "Code": "InternalError"}
    calls.fail("SendMessageBatch", {"Failed": [failed]})
    answer = api("POST", f"/v1/queue/{queue}/redrive").json
    assert (answer["moved"], answer["remaining"]) == (0, 3)
    assert calls.names().count("SendMessageBatch") == 1


@pytest.mark.parametrize(("method", "path"), [("GET", "dlq/messages"), ("POST", "dlq/purge"), ("POST", "redrive")])
def test_a_queue_without_a_dlq_says_so(api: Api, method: str, path: str) -> None:
    answer = api(method, f"/v1/queue/{api.queue()}/{path}")
    assert (answer.status, answer.code) == (409, "conflict")
    assert answer.json["error"]["details"] == {"reason": "no_dlq"}
    assert "dlq true" in answer.json["error"]["hint"]
