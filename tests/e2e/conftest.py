"""The deployed local stack, as a user meets it: over HTTP and with the `naive` command."""

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e import leaks, seen
from tests.e2e.deployed import environment, invoked
from tests.openapi import judge
from tests.template import ROOT, match

BIN = Path(sys.executable).parent
KEEP = """
import json, os, sys
print(json.dumps(dict(os.environ)), flush=True)
sys.exit(sys.stdin.read() != "passed")
"""
"""What runs against a stack, and so keeps it, until all tests have passed or its standard input ends."""


@pytest.fixture(scope="session", autouse=True)
def stack(request: pytest.FixtureRequest) -> Iterator[None]:
    """A stack of this process's own, of which only failures leave the logs; in the end nothing secret is in them."""
    command = [sys.executable, "-m", "local", "run", "--", sys.executable, "-c", KEEP]
    with (
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as keeper,
        pytest.MonkeyPatch.context() as patch,
    ):
        assert keeper.stdout, "it is a pipe"
        variables = json.loads(keeper.stdout.readline() or "null")
        assert variables, "the stack did not start, for the reason above"
        for name, value in variables.items():
            patch.setenv(name, value)
        yield
        assert list(leaks.everything()) == []
        keeper.communicate("" if request.session.testsfailed else "passed")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tells what was measured, also where tests run side by side."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")


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
