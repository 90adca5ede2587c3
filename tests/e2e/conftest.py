"""The deployed local stack, as a user meets it: over HTTP and with the `naive` command. `make test` starts one."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest

from tests.openapi import judge
from tests.template import match

BIN = Path(sys.executable).parent


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


def client(key: str) -> httpx.Client:
    return httpx.Client(base_url=environment("NAIVE_BASE_URL"), headers={"Authorization": f"Bearer {key}"}, timeout=40)


@pytest.fixture(scope="session")
def api() -> Iterator[Api]:
    """The client of the company that the stack was started with."""
    with client(environment("NAIVE_API_KEY")) as http:
        yield Api(http)


def operator(service: Any) -> Any:
    """The AWS client of whoever deployed the stack."""
    return boto3.client(
        service,
        endpoint_url=environment("AWS_ENDPOINT_URL"),
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


def output(name: str) -> str:
    """One of the stack's outputs."""
    (stack,) = operator("cloudformation").describe_stacks(StackName="naive-local")["Stacks"]
    outputs = {found["OutputKey"]: found["OutputValue"] for found in stack["Outputs"]}
    return str(outputs[name])


@pytest.fixture(scope="session")
def stranger() -> Iterator[Api]:
    """The client of another company, made as an operator makes one."""
    invoked = operator("lambda").invoke(
        FunctionName=output("BootstrapFunctionName"), Payload=json.dumps({"company": unique()})
    )
    made = json.loads(invoked["Payload"].read())
    with client(made["api_key"]) as http:
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
