"""AWS hangs, resets, fails and throttles: real sockets, each operation in a process of its own."""

import concurrent.futures
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.integration.fault_client import OPERATIONS, QUEUE, SERVICE
from tests.template import ROOT, functions

TIMEOUTS = {p["CodeUri"].removeprefix("functions/"): p["Timeout"] for p in functions().values()}
URL = "https://sqs.us-east-1.amazonaws.com/123456789012/nv-test"
ITEMS: list[Any] = [
    {
        "pk": {"S": "KEY#ff"},
        "sk": {"S": "KEY"},
        "id": {"S": "key"},
        "company": {"S": "company"},
        "default_user": {"S": "user"},
        "revoked": {"BOOL": False},
    },
    {
        "pk": {"S": f"QUEUE#{QUEUE}"},
        "sk": {"S": "QUEUE"},
        "id": {"S": QUEUE},
        "name": {"S": "jobs"},
        "type": {"S": "standard"},
        "company": {"S": "company"},
        "user": {"S": "user"},
        "state": {"S": "active"},
        "created_at": {"S": "1796040000.0"},
        "visibility_timeout": {"N": "30"},
        "retention_seconds": {"N": "345600"},
        "delay_seconds": {"N": "0"},
        "max_receive_count": {"N": "5"},
        "url": {"S": URL},
        "dlq_url": {"S": URL + "-dlq"},
    },
    {
        "pk": {"S": f"SERVICE#{SERVICE}"},
        "sk": {"S": "SERVICE"},
        "id": {"S": SERVICE},
        "name": {"S": "worker"},
        "company": {"S": "company"},
        "user": {"S": "user"},
        "state": {"S": "active"},
        "created_at": {"S": "1796040000.0"},
        "image": {"S": "me/worker"},
        "command": {"L": []},
        "cpu": {"N": "256"},
        "memory": {"N": "512"},
        "env": {"M": {}},
        "key_id": {"S": "key"},
    },
]


class Service(ThreadingHTTPServer):
    """An AWS endpoint that counts what it is asked and answers as it is told."""

    daemon_threads = True

    def __init__(self, behave: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behave = behave
        self.asked: Counter[str] = Counter()
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up is what these tests are about."""


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        operation = self.headers.get("X-Amz-Target", "").rpartition(".")[2]  # IAM's are in the body.
        asked = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked[operation] += 1
        match self.server.behave:
            case "hang":
                self.server.over.wait(30)
            case "reset":
                # Lingering for no time makes the kernel send a reset instead of an orderly end.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
            case "error":
                self.answer(500, {"__type": "com.amazonaws#InternalError", "message": "arn:aws:secret"})
            case "throttle":
                self.answer(400, {"__type": "com.amazonaws#ThrottlingException", "message": "arn:aws:secret"})
            case _:
                self.answer(200, healthy(operation, json.loads(asked)))

    def answer(self, status: int, body: Any) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nothing on the tests' standard error."""


def healthy(operation: str, asked: Any) -> Any:
    """What DynamoDB answers when nothing is wrong: one key, which has one queue and one service."""
    if operation == "BatchGetItem":
        keys = asked["RequestItems"]["registry"]["Keys"]
        wanted = [{**item, "pk": key["pk"]} for key in keys for item in ITEMS if item["sk"] == key["sk"]]
        return {"Responses": {"registry": wanted}, "UnprocessedKeys": {}}
    if operation == "Query":
        names = {"queue_id": {"S": QUEUE}, "service_id": {"S": SERVICE}}
        return {"Items": [{"pk": {"S": "USER#user"}, "sk": {"S": "QUEUE_NAME#jobs"}, "name": {"S": "jobs"}, **names}]}
    return {"Attributes": {"full_at": {"N": "0"}}}


@contextmanager
def service(behave: str) -> Iterator[Service]:
    running = Service(behave)
    thread = threading.Thread(target=running.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield running
    finally:
        running.over.set()
        running.shutdown()
        thread.join()
        running.server_close()


def call(operations: list[str], dynamodb: Service, others: Service) -> list[dict[str, Any]]:
    """What the operations answer, in a fresh process."""
    env = os.environ | {
        "AWS_ENDPOINT_URL_DYNAMODB": dynamodb.url,
        "AWS_ENDPOINT_URL": others.url,
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false",
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'layers/tenancy'}",
    }
    command = [sys.executable, "-m", "tests.integration.fault_client", *operations]
    run = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    assert "arn:aws:secret" not in run.stdout
    lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith('{"answer"')]
    return [line["answer"] for line in lines]


def assert_unavailable(answer: dict[str, Any]) -> None:
    assert (answer["status"], answer["code"]) == (503, "unavailable"), answer
    assert int(answer["retry_after"]) > 0
    assert answer["seconds"] < TIMEOUTS[answer["folder"]]


ON_SERVICES = {name for name in OPERATIONS if "compute" in name}
WITHOUT_SQS = {"list_queues"} | ON_SERVICES
# What it is about is out of use before SQS or ECS is told, and the reconciler deletes it there.
DONE_ALL_THE_SAME = {"delete_queue", "delete_compute"}


@pytest.mark.parametrize("behave", ["hang", "reset", "error", "throttle"])
def test_without_dynamodb_every_operation_is_unavailable_in_time_and_sqs_is_never_asked(behave: str) -> None:
    with service(behave) as dynamodb, service("error") as sqs:
        for answer in in_parallel(list(OPERATIONS), dynamodb, sqs):
            assert_unavailable(answer)
        assert not sqs.asked
        assert set(dynamodb.asked) == {"BatchGetItem"}


@pytest.mark.parametrize("behave", ["hang", "reset", "error", "throttle"])
def test_without_sqs_every_operation_is_unavailable_in_time_and_a_receive_is_tried_once(behave: str) -> None:
    operations = [name for name in OPERATIONS if name not in WITHOUT_SQS]
    with service("well") as dynamodb, service(behave) as sqs:
        answers = in_parallel(operations, dynamodb, sqs)
        for answer in answers:
            if answer["folder"] in DONE_ALL_THE_SAME:
                assert answer["status"] == 204
            else:
                assert_unavailable(answer)
        assert len(answers) == len(operations)
        # One of the receive, one of the look at the dead letters, one of the redrive: none a second time.
        assert sqs.asked["ReceiveMessage"] == 3
        assert sqs.asked["SendMessage"] <= 2
        assert "DeleteMessageBatch" in sqs.asked


@pytest.mark.parametrize("behave", ["hang", "reset", "error", "throttle"])
def test_without_ecs_iam_and_logs_every_operation_on_services_is_unavailable_in_time(behave: str) -> None:
    with service("well") as dynamodb, service(behave) as others:
        for answer in in_parallel(sorted(ON_SERVICES), dynamodb, others):
            if answer["folder"] in DONE_ALL_THE_SAME:
                assert answer["status"] == 204
                assert answer["seconds"] < TIMEOUTS[answer["folder"]]
            else:
                assert_unavailable(answer)


def in_parallel(operations: list[str], dynamodb: Service, others: Service) -> list[dict[str, Any]]:
    """What all the operations answer; those that wait for a hung service wait at the same time."""
    processes = 8 if "hang" in (dynamodb.behave, others.behave) else 2
    shares = [operations[start::processes] for start in range(processes)]
    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        answered = pool.map(lambda share: call(share, dynamodb, others), shares)
        return [answer for answers in answered for answer in answers]
