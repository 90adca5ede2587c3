"""Repeated and interrupted requests on the deployed stack."""

import json
import subprocess
import time
import uuid
from typing import Any

import pytest

from tests.e2e.conftest import Api, unique
from tests.e2e.deployed import operator, output
from tests.template import ROOT


@pytest.mark.parametrize("mount", ["/v1", "/v1/users/me"])
def test_a_repeated_post_is_done_once(api: Api, mount: str) -> None:
    queue = api.queue()
    path = f"{mount}/queue/{queue}/messages"
    headers = {"Idempotency-Key": unique()}
    first = api("POST", path, {"body": "x"}, headers=headers)
    second = api("POST", path, {"body": "x"}, headers=headers)
    assert (first.status_code, second.status_code) == (201, 201)
    assert second.json() == first.json()
    assert api.counts(queue)["depth"] == 1
    other = api("POST", path, {"body": "y"}, headers=headers)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_mismatch")


@pytest.mark.parametrize("path", ["purge", "messages/batch", "messages/settle", "dlq/purge", "redrive"])
def test_every_post_may_use_the_table_of_answers(api: Api, path: str) -> None:
    queue = api.queue(dlq=True)
    bodies: Any = {"messages/batch": {"messages": [{"body": "x"}]}, "messages/settle": {"ack": ["garbled"]}}
    headers = {"Idempotency-Key": unique()}
    answers = [api("POST", f"/v1/queue/{queue}/{path}", bodies.get(path), headers=headers) for _ in range(2)]
    assert answers[0].status_code in (200, 202)
    assert answers[1].json() == answers[0].json()


def test_a_create_with_a_key_makes_one_queue(api: Api) -> None:
    name, headers = unique(), {"Idempotency-Key": unique()}
    answers = [api("POST", "/v1/queue", {"name": name}, headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()


def test_the_reconciler_destroys_what_a_function_left_half_made(api: Api) -> None:
    name, queue = unique(), str(uuid.uuid4())
    user = api("GET", f"/v1/queue/{api.queue()}").json()["user_id"]
    sqs_name = f"nv-local-{user.replace('-', '')[:24]}-{queue.replace('-', '')}"
    url = operator("sqs").create_queue(QueueName=sqs_name)["QueueUrl"]
    half_made = {
        **{field: {"S": field} for field in ("company", "created_at")},
        **{field: {"N": "0"} for field in ("visibility_timeout", "retention_seconds", "delay_seconds")},
        "pk": {"S": f"QUEUE#{queue}"},
        "sk": {"S": "QUEUE"},
        "id": {"S": queue},
        "name": {"S": name},
        "type": {"S": "standard"},
        "user": {"S": user},
        "created_at": {"S": "1.0"},
        "state": {"S": "creating"},
        "due": {"S": "creating"},
        "due_at": {"N": str(int(time.time()) - 1)},
    }
    holder = {
        "pk": {"S": f"USER#{user}"},
        "sk": {"S": f"QUEUE_NAME#{name}"},
        "name": {"S": name},
        "queue_id": {"S": queue},
    }
    for item in (half_made, holder):
        operator("dynamodb").put_item(TableName=output("RegistryTableName"), Item=item)

    planned = [action for action in reconcile(dry_run=True) if action["resource"] == f"queue {queue}"]
    assert [action["outcome"] for action in planned] == ["would be destroyed"]
    shown = subprocess.run(["make", "-s", "reconcile"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f"queue {queue}, half made" in shown
    done = [action for action in reconcile(dry_run=False) if action["resource"] == f"queue {queue}"]
    assert [action["outcome"] for action in done] == ["destroyed"]
    with pytest.raises(operator("sqs").exceptions.QueueDoesNotExist):
        operator("sqs").get_queue_attributes(QueueUrl=url)
    assert f"queue {queue}" not in {action["resource"] for action in reconcile(dry_run=True)}
    assert api("POST", "/v1/queue", {"name": name}).status_code == 201


def reconcile(*, dry_run: bool) -> list[Any]:
    """What the function says that it did, or would do."""
    invoked = operator("lambda").invoke(
        FunctionName=output("ReconcileFunctionName"), Payload=json.dumps({"dry_run": dry_run})
    )
    assert "FunctionError" not in invoked
    actions: list[Any] = json.loads(invoked["Payload"].read())
    return actions
