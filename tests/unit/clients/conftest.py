"""A client and a command line that talk to a fake server, in a home of their own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner, Result

import naive.blocking.client
from naive.cli import output
from naive.cli.app import app
from tests.unit.clients.fake_api import BASE_URL, KEY, FakeApi, Run, Served


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def served() -> Iterator[Served]:
    with Served() as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory and an environment without our variables."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("NAIVE_API_KEY", "NAIVE_BASE_URL", "NAIVE_ACTIVE_USER_ID"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


@pytest.fixture
def run_bare(api: FakeApi, home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line of somebody who has not logged in."""
    monkeypatch.setattr(naive.blocking.client, "Naive", api.client)
    monkeypatch.setattr(time, "sleep", api.slept.append)

    def run(*arguments: str, input: bytes | str | None = None) -> Result:
        result = CliRunner().invoke(app, arguments, input=input)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def run(run_bare: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line of somebody who has a key and an address in the environment."""
    monkeypatch.setenv("NAIVE_API_KEY", KEY)
    monkeypatch.setenv("NAIVE_BASE_URL", BASE_URL)
    return run_bare


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person at both ends of the command line."""
    monkeypatch.setattr(output, "is_terminal", lambda stream: True)
