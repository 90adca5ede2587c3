"""The deployed local stack, as a user meets it: over HTTP and with the `naive` command. `make test` starts one."""

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest

from tests.e2e import seen
from tests.openapi import judge
from tests.template import match

BIN = Path(sys.executable).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What looks for secrets in all that the run has left goes last."""
    items.sort(key=lambda item: item.path.name == "test_secrets.py")


def environment(name: str) -> str:
    """A variable that the running stack sets."""
    if name not in os.environ:
        pytest.fail(f"{name} is not set: these tests need a running stack, which `make test` starts for them")
    return os.environ[name]


@dataclass
class Api:
    """A client with a key."""

    http: httpx.Client

    def __call__(
        self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None, **query: Any
    ) -> httpx.Response:
        content = None if body is None else json.dumps(body)
        answer = self.http.request(method, path, content=content, params=query or None, headers=headers)
        _, route, _ = match(method, path)
        judge(route, answer.status_code, answer.headers, answer.text)
        return answer

    def queue(self, name: str | None = None, **settings: Any) -> str:
        """The id of a new queue."""
        answer = self("POST", "/v1/queue", {"name": name or unique(), **settings})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def new_service(self, **settings: Any) -> dict[str, Any]:
        """What a new service is asked for with."""
        return {"name": unique(), "type": "service", "image": "me/worker", **settings}

    def service(self, **settings: Any) -> str:
        """The id of a new service."""
        answer = self("POST", "/v1/compute", self.new_service(**settings))
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def send(self, queue: str, body: str = "work", **fields: Any) -> Any:
        """The answer to a send that went well."""
        answer = self("POST", f"/v1/queue/{queue}/messages", {"body": body, **fields})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def receive(self, queue: str, **query: Any) -> list[Any]:
        """What one receive gives."""
        answer = self("GET", f"/v1/queue/{queue}/messages", **query)
        assert answer.status_code == 200, answer.text
        messages: list[Any] = answer.json()["messages"]
        return messages

    def ack(self, queue: str, handle: str) -> None:
        assert self("DELETE", f"/v1/queue/{queue}/messages", receipt_handle=handle).status_code == 204

    def counts(self, queue: str) -> Any:
        return self("GET", f"/v1/queue/{queue}/attributes").json()


def unique() -> str:
    """A name that no other test has."""
    return f"t-{uuid.uuid4().hex[:12]}"


def eventually[Found](look: Callable[[], Found], good: Callable[[Found], bool], seconds: float = 60) -> Found:
    """What is seen once it is good, which it must be in so many seconds."""
    patience = time.monotonic() + seconds
    while not good(seen := look()):
        assert time.monotonic() < patience, seen
        time.sleep(0.1)
    return seen


def client(key: str) -> httpx.Client:
    seen.keys.add(key)
    return httpx.Client(
        base_url=environment("NAIVE_BASE_URL"),
        headers={"Authorization": f"Bearer {key}"},
        timeout=40,
        event_hooks={"response": [_note]},
    )


def _note(response: httpx.Response) -> None:
    response.read()
    seen.answer(response.status_code, response.headers, response.text)


@pytest.fixture(scope="session")
def api() -> Iterator[Api]:
    """The client of the company that the stack was started with."""
    with client(environment("NAIVE_API_KEY")) as http:
        yield Api(http)


@cache
def operator(service: Any) -> Any:
    """The AWS client of whoever deployed the stack."""
    # A session of its own, since making a client of the default one is not safe where threads are.
    return boto3.session.Session().client(
        service,
        endpoint_url=environment("AWS_ENDPOINT_URL"),
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


def assumed(role: str, service: Any = "sqs") -> Any:
    """The AWS client of whoever has taken a role on, by its ARN."""
    session = operator("sts").assume_role(RoleArn=role, RoleSessionName="test")["Credentials"]
    return boto3.client(
        service,
        endpoint_url=environment("AWS_ENDPOINT_URL"),
        region_name="us-east-1",
        aws_access_key_id=session["AccessKeyId"],
        aws_secret_access_key=session["SecretAccessKey"],
        aws_session_token=session["SessionToken"],
    )


def output(name: str) -> str:
    """One of the stack's outputs."""
    (stack,) = operator("cloudformation").describe_stacks(StackName="naive-local")["Stacks"]
    outputs = {found["OutputKey"]: found["OutputValue"] for found in stack["Outputs"]}
    return str(outputs[name])


def invoked(operation: str, **event: Any) -> Any:
    """What a function answers to the operator."""
    answer = operator("lambda").invoke(FunctionName=f"naive-local-{operation}", Payload=json.dumps(event))
    said = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        raise RuntimeError(said)
    return said


def records(table: str) -> Iterator[Any]:
    """What is in a table of the stack."""
    found = operator("cloudformation").describe_stack_resource(StackName="naive-local", LogicalResourceId=table)
    name = found["StackResourceDetail"]["PhysicalResourceId"]
    for page in operator("dynamodb").get_paginator("scan").paginate(TableName=name):
        yield from page["Items"]


@pytest.fixture(scope="session")
def stranger() -> Iterator[Api]:
    """The client of another company, made as an operator makes one."""
    with client(invoked("bootstrap", company=unique())["api_key"]) as http:
        yield Api(http)


@dataclass
class Cli:
    """The `naive` command in a shell of its own, with an empty home."""

    home: Path

    def __call__(self, *arguments: str, stdin: str | bytes | None = None, code: int = 0) -> str:
        """The command's output; its exit code must be the expected one."""
        run = subprocess.run(
            [BIN / "naive", *arguments],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            env=self.env,
            timeout=120,
            check=False,
        )
        seen.command(arguments, run.stdout.decode(), run.stderr.decode())
        assert run.returncode == code, run.stderr.decode() + run.stdout.decode()
        assert b"Traceback" not in run.stderr
        return run.stdout.decode()

    def json(self, *arguments: str, **options: Any) -> Any:
        return json.loads(self(*arguments, **options))

    @property
    def env(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "NAIVE_BASE_URL": environment("NAIVE_BASE_URL"),
            "NAIVE_API_KEY": environment("NAIVE_API_KEY"),
        }


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)
