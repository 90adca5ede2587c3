"""Where a stack listens, and what its commands see of the caller's environment."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.environments import ROOT
from local.stack import Stack, free_port, refuse_busy_port
from local.steps import LocalError


@pytest.fixture
def busy_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_busy_port_is_refused_with_one_line_that_says_what_to_do(busy_port: int) -> None:
    with pytest.raises(LocalError) as refused:
        refuse_busy_port(busy_port)
    words = str(refused.value)
    assert words.startswith(f"Port {busy_port} is in use by another program (")
    assert f"make local LOCAL_PORT={busy_port + 1}" in words
    assert "\n" not in words


def test_a_free_port_is_not_refused() -> None:
    refuse_busy_port(free_port())


def test_no_account_or_build_of_the_caller_reaches_its_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "secret")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAREAL")
    monkeypatch.setenv("MAKEFLAGS", "--jobserver-auth=3,4")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    seen = Stack(Path("/home"), 4600).environment()
    assert not {"AWS_PROFILE", "AWS_SESSION_TOKEN", "MAKEFLAGS"} & seen.keys()
    assert seen["AWS_ACCESS_KEY_ID"] == "test"
    assert seen["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4600"
    assert "127.0.0.1" in seen["NO_PROXY"]
    assert seen["PATH"].startswith(f"{ROOT}/.venv/bin:")
