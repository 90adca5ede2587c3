"""Queues are made, listed, changed, counted, purged and destroyed."""

import json
import time
from typing import Any

import boto3
import pytest

from tenancy import aws, queues, registry, reservations, table, tokens
from tests.integration.conftest import Api, Calls, aws_fault


def test_a_queue_has_the_contracts_defaults(api: Api) -> None:
    answer = api("POST", "/v1/queue", {"name": "jobs"})
    assert answer.status == 201
    queue = answer.json
    assert queue == {
        "id": queue["id"],
        "name": "jobs",
        "type": "standard",
        "user_id": api.user,
        "dlq": False,
        "max_receive_count": None,
        "visibility_timeout": 30,
        "retention_seconds": 345_600,
        "delay_seconds": 0,
        "content_based_dedup": None,
        "consumer": None,
        "created_at": queue["created_at"],
    }
    assert queue["created_at"].endswith("Z")
    assert api("GET", f"/v1/queue/{queue['id']}").json == queue | {
        "attributes": {"depth": 0, "in_flight": 0, "delayed": 0, "dlq_depth": None}
    }


def test_a_fifo_queue_with_a_dlq_has_its_defaults_too(api: Api) -> None:
    queue = api("POST", "/v1/queue", {"name": "orders", "type": "fifo", "dlq": True}).json
    assert (queue["type"], queue["dlq"], queue["max_receive_count"]) == ("fifo", True, 5)
    assert queue["content_based_dedup"] is True
    assert api("GET", f"/v1/queue/{queue['id']}/attributes").json["dlq_depth"] == 0


def test_a_null_is_the_same_as_leaving_the_field_out(api: Api) -> None:
    answer = api("POST", "/v1/queue", {"name": "jobs", "visibility_timeout": None, "type": None})
    assert (answer.status, answer.json["visibility_timeout"], answer.json["type"]) == (201, 30, "standard")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({}, "name is required: a string of 1 to 64 characters"),
        ({"name": ""}, "name must be a string of 1 to 64 characters"),
        ({"name": "x" * 65}, "name must be a string of 1 to 64 characters"),
        ({"name": "bad name!"}, "name must be a string of 1 to 64 characters"),
        ({"name": "jobs\n"}, "name must be a string of 1 to 64 characters"),
        ({"name": 7}, "name must be a string of 1 to 64 characters"),
        ({"name": None}, "name is required"),
        ({"name": "j", "type": "FIFO"}, "type must be one of standard, fifo"),
        ({"name": "j", "dlq": "true"}, "dlq must be true or false"),
        ({"name": "j", "dlq": 1}, "dlq must be true or false, not 1"),
        ({"name": "j", "max_receive_count": 3}, "max_receive_count is for queues with dlq true"),
        ({"name": "j", "dlq": True, "max_receive_count": 0}, "a whole number from 1 to 1000, not 0"),
        ({"name": "j", "dlq": True, "max_receive_count": 1001}, "from 1 to 1000, not 1001"),
        ({"name": "j", "visibility_timeout": 43_201}, "a whole number from 0 to 43200, not 43201"),
        ({"name": "j", "visibility_timeout": "30"}, "a whole number from 0 to 43200, not '30'"),
        ({"name": "j", "visibility_timeout": 1.5}, "visibility_timeout must be a whole number"),
        ({"name": "j", "visibility_timeout": True}, "a whole number from 0 to 43200, not true"),
        ({"name": "j", "retention_seconds": 59}, "retention_seconds must be a whole number from 60 to 1209600, not 59"),
        ({"name": "j", "delay_seconds": 901}, "delay_seconds must be a whole number from 0 to 900, not 901"),
        ({"name": "j", "content_based_dedup": True}, "content_based_dedup is for fifo queues"),
        ({"name": "j", "content_based_dedup": False}, "content_based_dedup is for fifo queues"),
        ({"name": "j", "colour": "red"}, "unknown field 'colour'; known: name, type, dlq"),
        ({"name": "j", "colour": None}, "unknown field 'colour'"),
    ],
)  # fmt: skip
def test_bad_settings_are_refused_by_field_and_range(api: Api, settings: Any, says: str) -> None:
    answer = api("POST", "/v1/queue", settings)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert says in answer.json["error"]["message"]


def test_a_name_with_the_fifo_suffix_gets_a_hint(api: Api) -> None:
    error = api("POST", "/v1/queue", {"name": "orders.fifo"}).json["error"]
    assert error["code"] == "invalid_input"
    assert '"type": "fifo"' in error["hint"]


def test_names_are_unique_per_user(api: Api, stranger: Api) -> None:
    queue = api.queue("jobs")
    again = api("POST", "/v1/queue", {"name": "jobs", "type": "fifo"})
    assert (again.status, again.code, again.json["error"]["details"]) == (409, "already_exists", {"id": queue})
    assert stranger.queue("jobs") != queue


def test_lists_go_by_name_and_page_by_cursor(api: Api) -> None:
    names = [f"q{number}" for number in (3, 1, 5, 2, 4)]
    for name in names:
        api.queue(name)
    first = api("GET", "/v1/queue", limit=2).json
    second = api("GET", "/v1/queue", limit=2, cursor=first["next_cursor"]).json
    third = api("GET", "/v1/queue", limit=2, cursor=second["next_cursor"]).json
    pages = [[queue["name"] for queue in page["queues"]] for page in (first, second, third)]
    assert pages == [["q1", "q2"], ["q3", "q4"], ["q5"]]
    assert third["next_cursor"] is None
    assert [queue["name"] for queue in api("GET", "/v1/queue").json["queues"]] == sorted(names)


def test_a_page_that_ends_the_list_has_no_cursor(api: Api) -> None:
    api.queue("a")
    api.queue("b")
    assert api("GET", "/v1/queue", limit=2).json["next_cursor"] is None


def test_a_name_that_starts_another_does_not_end_the_page_early(api: Api) -> None:
    for name in ("a", "a-", "a_b", "aa", "A"):
        api.queue(name)
    seen, cursor = [], None
    while True:
        page = api("GET", "/v1/queue", limit=1, **({"cursor": cursor} if cursor else {})).json
        seen += [queue["name"] for queue in page["queues"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == ["A", "a", "a-", "a_b", "aa"]


def test_a_list_can_be_asked_for_one_name(api: Api) -> None:
    queue = api.queue("jobs")
    api.queue("jobs2")
    assert [found["id"] for found in api("GET", "/v1/queue", name="jobs").json["queues"]] == [queue]
    assert api("GET", "/v1/queue", name="job").json == {"queues": [], "next_cursor": None}


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"limit": 0}, "limit must be a whole number from 1 to 100, not 0"),
        ({"limit": 101}, "limit must be a whole number from 1 to 100, not 101"),
        ({"limit": "ten"}, "limit must be a whole number from 1 to 100"),
        ({"limit": ""}, "limit must be a whole number from 1 to 100"),
        ({"limit": "1,2"}, "limit must be a whole number from 1 to 100"),
        ({"cursor": "garbled"}, "cursor must be the next_cursor"),
        ({"cursor": ""}, "cursor must be the next_cursor"),
        ({"page": 2}, "unknown field 'page'; known: limit, cursor, name"),
        ({"name": "jobs", "cursor": "x"}, "give name or cursor, not both"),
    ],
)
def test_a_bad_query_is_refused(api: Api, query: Any, says: str) -> None:
    answer = api("GET", "/v1/queue", **query)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert says in answer.json["error"]["message"]


def test_a_cursor_of_another_user_is_worth_nothing(api: Api, stranger: Api) -> None:
    for client in (api, stranger):
        client.queue("a")
        client.queue("b")
    cursor = api("GET", "/v1/queue", limit=1).json["next_cursor"]
    assert stranger("GET", "/v1/queue", cursor=cursor).status == 400


@pytest.mark.parametrize("content", [b"", b"\xff", b"~", b"a b", b"x" * 65, b"jobs\n"])
def test_a_made_up_cursor_is_refused(api: Api, content: bytes) -> None:
    answer = api("GET", "/v1/queue", cursor=tokens.seal("queues", content, api.user))
    assert (answer.status, answer.code) == (400, "invalid_input")


def test_settings_change_at_once_in_the_answer_and_in_sqs(api: Api) -> None:
    queue = api.queue(dlq=True)
    answer = api("PATCH", f"/v1/queue/{queue}", {"visibility_timeout": 7, "max_receive_count": 2, "delay_seconds": 3})
    assert answer.status == 200
    assert [answer.json[name] for name in ("visibility_timeout", "max_receive_count", "delay_seconds")] == [7, 2, 3]
    assert api("GET", f"/v1/queue/{queue}").json["visibility_timeout"] == 7
    attributes = sqs_attributes(queue)
    assert (attributes["VisibilityTimeout"], attributes["DelaySeconds"]) == ("7", "3")
    assert json.loads(attributes["RedrivePolicy"])["maxReceiveCount"] in (2, "2")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "give at least one of visibility_timeout, retention_seconds, delay_seconds, max_receive_count"),
        ({"visibility_timeout": None}, "give at least one of"),
        ({"max_receive_count": 3}, "max_receive_count is for queues made with dlq true"),
        ({"retention_seconds": 1_209_601}, "from 60 to 1209600, not 1209601"),
        ({"name": "other"}, "unknown field 'name'"),
        ({"type": "fifo"}, "unknown field 'type'"),
    ],
)
def test_a_bad_change_is_refused(api: Api, changes: Any, says: str) -> None:
    answer = api("PATCH", f"/v1/queue/{api.queue()}", changes)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert says in answer.json["error"]["message"]


def test_counts_tell_ready_leased_delayed_and_dead_apart(api: Api) -> None:
    queue = api.queue(dlq=True, max_receive_count=1)
    api.send(queue, "dead")
    api.receive(queue, visibility=0)
    api.receive(queue)
    for _ in range(3):
        api.send(queue)
    api.receive(queue)
    api.send(queue, delay_seconds=60)
    assert api("GET", f"/v1/queue/{queue}/attributes").json == {
        "depth": 2,
        "in_flight": 1,
        "delayed": 1,
        "dlq_depth": 1,
    }


def test_a_purge_takes_every_message_and_rests_a_minute(
    api: Api, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = api.queue()
    api.send(queue)
    answer = api("POST", f"/v1/queue/{queue}/purge")
    assert (answer.status, answer.json["status"]) == (202, "purging")
    assert api.receive(queue) == []
    again = api("POST", f"/v1/queue/{queue}/purge")
    assert (again.status, again.code) == (409, "purge_in_progress")
    assert 1 <= int(again.headers["Retry-After"]) <= 60
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    calls.fail("PurgeQueue", {})  # moto's own minute goes by another clock
    assert api("POST", f"/v1/queue/{queue}/purge").status == 202


def test_a_queue_and_its_dead_letters_are_purged_apart(api: Api) -> None:
    queue = api.queue(dlq=True, max_receive_count=1)
    api.send(queue, "dead")
    api.receive(queue, visibility=0)
    api.receive(queue)
    api.send(queue, "alive")
    assert api("POST", f"/v1/queue/{queue}/dlq/purge").status == 202
    assert api("GET", f"/v1/queue/{queue}/attributes").json["dlq_depth"] == 0
    assert [message["body"] for message in api.receive(queue)] == ["alive"]
    assert api("POST", f"/v1/queue/{queue}/dlq/purge").code == "purge_in_progress"
    assert api("POST", f"/v1/queue/{queue}/purge").status == 202


def test_a_purge_that_sqs_did_not_take_can_be_repeated_at_once(api: Api, calls: Calls) -> None:
    queue = api.queue()
    calls.fail("PurgeQueue", aws_fault("InternalError", 500))
    assert api("POST", f"/v1/queue/{queue}/purge").status == 503
    assert api("POST", f"/v1/queue/{queue}/purge").status == 202


def test_sqs_own_minute_between_purges_is_ours(api: Api, calls: Calls) -> None:
    queue = api.queue()
    calls.fail("PurgeQueue", aws_fault("AWS.SimpleQueueService.PurgeQueueInProgress"))
    answer = api("POST", f"/v1/queue/{queue}/purge")
    assert (answer.code, answer.headers["Retry-After"]) == ("purge_in_progress", "60")


def test_purge_takes_no_fields(api: Api) -> None:
    queue = api.queue()
    assert api("POST", f"/v1/queue/{queue}/purge", {"force": True}).status == 400
    assert api("POST", f"/v1/queue/{queue}/purge", {}).status == 202


def test_a_destroyed_queue_is_gone_and_its_name_free_at_once(api: Api) -> None:
    queue = api.queue("jobs", dlq=True)
    answer = api("DELETE", f"/v1/queue/{queue}")
    assert (answer.status, answer.text) == (204, "")
    assert api("GET", f"/v1/queue/{queue}").status == 404
    assert api("DELETE", f"/v1/queue/{queue}").status == 404
    assert api("GET", "/v1/queue").json["queues"] == []
    assert "QueueUrls" not in boto3.client("sqs").list_queues()
    assert table.read([("QUEUE#" + queue, "QUEUE")]) == {}
    assert api.queue("jobs") != queue


def test_a_queue_whose_sqs_queue_vanished_can_still_be_destroyed(api: Api) -> None:
    queue = api.queue()
    sqs = boto3.client("sqs")
    sqs.delete_queue(QueueUrl=sqs.list_queues()["QueueUrls"][0])
    assert api("DELETE", f"/v1/queue/{queue}").status == 204


@pytest.mark.parametrize("code", ["InternalError", "AccessDenied"])
def test_a_destroy_that_sqs_did_not_finish_has_still_happened(api: Api, calls: Calls, code: str) -> None:
    queue = api.queue("jobs")
    calls.fail("DeleteQueue", aws_fault(code, 500 if code == "InternalError" else 403))
    assert api("DELETE", f"/v1/queue/{queue}").status == 204
    assert api("GET", f"/v1/queue/{queue}").status == 404
    record = table.read([("QUEUE#" + queue, "QUEUE")])["QUEUE#" + queue, "QUEUE"]
    assert (record["state"], record["due"]) == ("deleting", "deleting")
    api.queue("jobs")


def test_two_creates_of_one_name_at_once_make_one_queue(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    real = reservations.reserve

    def meanwhile(queue: registry.Queue) -> None:
        real(queue)
        monkeypatch.setattr(reservations, "reserve", real)
        seen.append(api("POST", "/v1/queue", {"name": "jobs"}))

    monkeypatch.setattr(reservations, "reserve", meanwhile)
    assert api("POST", "/v1/queue", {"name": "jobs"}).status == 201
    assert (seen[0].status, seen[0].code) == (409, "request_in_progress")
    assert int(seen[0].headers["Retry-After"]) == 1
    assert len(api("GET", "/v1/queue").json["queues"]) == 1


def test_a_name_that_is_freed_at_that_moment_is_taken(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = api.queue("jobs")
    real = reservations._unfinished

    def meanwhile(wanted: registry.Queue) -> Any:
        assert api("DELETE", f"/v1/queue/{queue}").status == 204
        monkeypatch.setattr(reservations, "_unfinished", real)
        return real(wanted)

    monkeypatch.setattr(reservations, "_unfinished", meanwhile)
    assert api("POST", "/v1/queue", {"name": "jobs"}).status == 201


def test_a_create_that_died_gives_its_name_to_the_next_one(
    api: Api, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls.fail("CreateQueue", aws_fault("InternalError", 500))
    assert api("POST", "/v1/queue", {"name": "jobs"}).status == 503
    assert api("GET", "/v1/queue").json["queues"] == []
    assert api("GET", "/v1/queue", name="jobs").json["queues"] == []
    assert api("POST", "/v1/queue", {"name": "jobs"}).code == "request_in_progress"
    later = time.time() + 31
    monkeypatch.setattr(time, "time", lambda: later)
    queue = api.queue("jobs")
    assert [found["id"] for found in api("GET", "/v1/queue").json["queues"]] == [queue]


def test_a_queue_in_sqs_is_named_tagged_encrypted_and_locked(api: Api) -> None:
    queue = api.queue("orders", type="fifo", dlq=True, max_receive_count=2)
    sqs = boto3.client("sqs")
    main, dead = sorted(sqs.list_queues()["QueueUrls"], key=len)
    stem = f"nv-test-{api.user.replace('-', '')[:24]}-{queue.replace('-', '')}"
    assert [url.rpartition("/")[2] for url in (main, dead)] == [f"{stem}.fifo", f"{stem}-dlq.fifo"]
    for url in (main, dead):
        assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {
            "stage": "test",
            "company": api.company,
            "user": api.user,
            "queue": queue,
            "name": "orders",
        }
        attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        assert attributes["SqsManagedSseEnabled"] == "true"
        assert (attributes["DeduplicationScope"], attributes["FifoThroughputLimit"]) == (
            "messageGroup",
            "perMessageGroupId",
        )
        policy = json.loads(attributes["Policy"])
        assert policy["Statement"][0]["Condition"]["ArnNotLike"]["aws:PrincipalArn"] == [
            "arn:aws:iam::123456789012:role/naive/test/platform/*",
            f"arn:aws:iam::123456789012:role/naive/test/task-{api.user}",
        ]
        assert policy["Statement"][1]["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert sqs_attributes(queue)["RedrivePolicy"]
    dead_attributes = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["All"])["Attributes"]
    assert dead_attributes["MessageRetentionPeriod"] == "1209600"


def test_a_stale_change_after_a_destroy_changes_nothing(api: Api) -> None:
    queue = api.queue()
    (record,) = registry.named_queue(api.user, "jobs")
    api("DELETE", f"/v1/queue/{queue}")
    with pytest.raises(Exception, match="no such user or resource"):
        queues.change(record, {"visibility_timeout": 1})
    assert api("GET", f"/v1/queue/{queue}").status == 404


def sqs_attributes(queue: str) -> dict[str, str]:
    """What SQS says of the queue with our id."""
    record = table.read([("QUEUE#" + queue, "QUEUE")])["QUEUE#" + queue, "QUEUE"]
    attributes = aws.sqs.get_queue_attributes(QueueUrl=record["url"], AttributeNames=["All"])["Attributes"]
    return {str(name): value for name, value in attributes.items()}
