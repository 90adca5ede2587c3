"""Nothing secret is logged, said or stored; conftest looks again when all has run."""

import json
import re
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.e2e import leaks, seen
from tests.e2e.conftest import Api, Cli, unique
from tests.e2e.deployed import invoked, operator, output, records
from tests.e2e.leaks import CANARY, GROUP, MEANT, PERSON
from tests.template import match, routes

MESSAGE = {"body": CANARY, "group_id": CANARY, "attributes": {CANARY: CANARY}}
TOO_LARGE = CANARY * 30_000
REFUSED: list[dict[str, Any]] = [
    {"body": f"{CANARY}\uffff"},
    {"body": [CANARY]},
    {"body": CANARY, "group_id": f"{CANARY} "},
    {"body": CANARY, "group_id": CANARY * 9},
    {"body": CANARY, "attributes": {"name": f"{CANARY}\uffff"}},
    {"body": CANARY, "attributes": {"name": [CANARY]}},
    {"body": CANARY, "attributes": dict.fromkeys("abcdefghijk", CANARY)},
    {"body": CANARY, "group_id": CANARY, "dedup_id": CANARY},
    {"body": CANARY, "delay_seconds": CANARY},
    {"body": TOO_LARGE},
]
UNREADABLE = [f'{{"body": "{CANARY}', f'"{CANARY}"', f"[{CANARY}]", f'{{"body": "{CANARY}", "body": NaN}}']

RIGHTS = {"bootstrap": "dynamodb:*", "destroy_user": "dynamodb:*", "reconcile": "dynamodb:*"}
"""Without which a function fails, where it is not those to SQS."""


@pytest.fixture(scope="module")
def queue(api: Api) -> str:
    return api.queue(dlq=True, max_receive_count=1)


@pytest.fixture(scope="module")
def used(api: Api, queue: str) -> None:
    """Every operation on messages is refused, fails and is done, with a canary in all that a tenant gives.

    What no request asks for fails too, since Lambda itself logs what its handlers raise.
    """
    path = f"/v1/queue/{queue}"
    for fields in REFUSED:
        assert api("POST", f"{path}/messages", fields).status_code in (400, 413)
        assert "error" in api("POST", f"{path}/messages/batch", {"messages": [fields]}).text
    for content in UNREADABLE:
        for where in ("messages", "messages/batch", "messages/settle", "redrive"):
            assert api.http.post(f"{path}/{where}", content=content).status_code == 400
    headers = {"Idempotency-Key": unique()}
    for fields, status in ((MESSAGE, 201), ({**MESSAGE, "body": f"another {CANARY}"}, 409)):
        assert api("POST", f"{path}/messages", fields, headers=headers).status_code == status

    called = set()
    for method, where, fields, query in calls(api, queue):
        folder, _, _ = match(method, path + where)
        called.add(folder)
        with no_rights(folder):
            assert api(method, path + where, fields, **query).status_code == 500
        assert api(method, path + where, fields, **query).status_code < 300
    on_messages = {folder for (_, path), folder in routes().items() if re.search("/(messages|dlq|redrive)", path)}
    assert called == on_messages, "an operation is left out"

    person = {"external_id": PERSON, "email": f"{PERSON}@example.com", "label": PERSON}
    user = api("POST", "/v1/users", person).json()["id"]
    assert api("PATCH", f"/v1/users/{user}", person).status_code == 200
    assert api("POST", "/v1/auth/keys", {"name": PERSON, "active_tenant_user_id": user}).status_code == 201
    assert api("DELETE", f"/v1/users/{user}").status_code == 204
    for operation, event in (("bootstrap", {"company": "c"}), ("destroy_user", {"user": user}), ("reconcile", {})):
        with no_rights(operation), pytest.raises(RuntimeError, match="on our side"):
            invoked(operation, **event)


def calls(api: Api, queue: str) -> Iterator[tuple[str, str, Any, dict[str, Any]]]:
    """A call of every operation on messages: method, path behind the queue's, body and query."""
    yield "POST", "/messages", MESSAGE, {}
    yield "POST", "/messages/batch", {"messages": [MESSAGE] * 9}, {}
    yield "GET", "/messages", None, {"wait": 1}
    yield "PATCH", "/messages", {"receipt_handle": leased(api, queue), "visibility": 60}, {}
    yield "DELETE", "/messages", None, {"receipt_handle": leased(api, queue)}
    handles = [leased(api, queue) for _ in range(3)]
    settled = {
        "ack": [handles[0]],
        "retry": [{"receipt_handle": handles[1]}],
        "extend": [{"receipt_handle": handles[2], "visibility": 0}],
    }
    yield "POST", "/messages/settle", settled, {}
    api.receive(queue, wait=1)  # What was given back is dead now.
    yield "GET", "/dlq/messages", None, {}
    yield "POST", "/redrive", {"max": 1}, {}
    yield "POST", "/dlq/purge", None, {}


def leased(api: Api, queue: str) -> str:
    (message,) = api.receive(queue, wait=5)
    assert message["body"] == CANARY
    return str(message["receipt_handle"])


@contextmanager
def no_rights(folder: str) -> Iterator[None]:
    """AWS refuses a function's calls, with faults that name the resource, the role and the account."""
    iam = operator("iam")
    configuration = operator("lambda").get_function_configuration(FunctionName=f"naive-local-{folder}")
    role = {"RoleName": configuration["Role"].rpartition("/")[2], "PolicyName": "nothing"}
    deny = {"Effect": "Deny", "Action": RIGHTS.get(folder, "sqs:*"), "Resource": "*"}
    iam.put_role_policy(**role, PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [deny]}))
    try:
        yield
    finally:
        iam.delete_role_policy(**role)


def test_the_command_says_nothing_of_a_message_that_is_refused(cli: Cli, queue: str) -> None:
    cli("queue", "send", queue, TOO_LARGE[:100_000] + "\uffff", code=1)
    cli("queue", "send", queue, CANARY, "--group", f"{CANARY} ", code=1)
    cli("queue", "send", queue, CANARY, "--group", CANARY)
    cli("queue", "attributes", queue)
    key = cli.json("keys", "create", "--name", unique())
    cli("keys", "list")
    cli("keys", "revoke", key["key_id"], "--yes")
    cli("keys", "revoke", key["api_key"], "--yes", code=2)
    assert not list(leaks.in_texts("output", seen.output))


def test_the_scan_sees_what_is_planted_in_each_place(used: None) -> None:
    key = f"nv_sk_live_{uuid.uuid4().hex}-_{uuid.uuid4().hex[:9]}"
    seen.keys.add(key)
    account = operator("sts").get_caller_identity()["Account"]
    planted = {
        "a key": key[20:28],
        "a message": CANARY,
        "a person": PERSON,
        "a receipt handle": f"receipt_{uuid.uuid4().hex}{uuid.uuid4().hex}",
        "a webhook's secret": f"whsec_{uuid.uuid4().hex}{uuid.uuid4().hex}",
        "a queue's URL": f"https://sqs.us-east-1.amazonaws.com/{account}/nv-local-x",
        "an ARN": f"arn:aws:sqs:us-east-1:{account}:other",
        "the account": f"{account[:4]}-{account[4:8]}-{account[8:]}",
    }
    with logged(planted.values()):
        seen.refusals += planted.values()
        seen.output += planted.values()
        found = {(place, what) for place, what, _ in leaks.everything()}
        del seen.refusals[-len(planted) :], seen.output[-len(planted) :]
    assert found >= {(place, what) for place in ("log", "refusals", "output") for what in planted} - MEANT


def test_the_scan_sees_the_log_of_every_request(used: None) -> None:
    logged = {found for line in leaks.log() for found in re.findall(r'"request_id":"([^"]+)"', line)}
    assert len(seen.request_ids) > 50
    assert seen.request_ids <= logged
    faults = [json.loads(line)["fault"] for line in leaks.log() if '"message":"unhandled"' in line]
    assert {"SendMessage AccessDenied", "ReceiveMessage AccessDenied", "PurgeQueue AccessDenied"} <= {*faults}


def test_nothing_secret_is_in_any_log_refusal_or_output(used: None) -> None:
    assert list(leaks.everything()) == []


def test_no_table_holds_a_key_or_a_message_and_no_kept_answer_an_address(api: Api, used: None) -> None:
    queue, headers = api.queue(), {"Idempotency-Key": unique()}
    sent = api("POST", f"/v1/queue/{queue}/messages", MESSAGE, headers=headers).json()
    made = api("POST", "/v1/auth/keys", {"name": unique()}, headers=headers).json()
    registry, idempotency, usage = (list(records(table)) for table in ("Registry", "Idempotency", "Usage"))
    assert sent["message_id"] in repr(idempotency), "the scan does not see what it is meant to see"
    assert made["key_id"] in repr(idempotency)
    assert made["key_id"] in repr(registry)
    for place, items in (("Registry", registry), ("Idempotency", idempotency), ("Usage", usage)):
        secrets = [
            finding for finding in leaks.in_texts(place, map(repr, items)) if finding[1] in ("a key", "a message")
        ]
        assert secrets == []
    assert list(leaks.in_texts("Idempotency", map(repr, idempotency))) == []
    assert output("RegistryTableName") not in repr(idempotency)
    assert all(int(record["expiration"]["N"]) > time.time() for record in idempotency)


@contextmanager
def logged(lines: Iterable[str]) -> Iterator[None]:
    """Has these lines in the log."""
    logs, stream = operator("logs"), {"logGroupName": GROUP, "logStreamName": unique()}
    logs.create_log_stream(**stream)
    try:
        now = int(time.time() * 1000)
        logs.put_log_events(**stream, logEvents=[{"timestamp": now, "message": line} for line in lines])
        yield
    finally:
        logs.delete_log_stream(**stream)
