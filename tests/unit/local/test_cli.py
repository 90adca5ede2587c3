"""What the verbs make of what they are given."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local import cli, company, emulator, lifecycle
from local.stack import Stack


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """The verbs set handlers for the whole process."""
    before = {number: signal.getsignal(number) for number in cli.STOPPING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the verbs were asked for, none of which happens."""
    asked: list[object] = []

    def up(stack: Stack) -> str:
        asked.append(stack.port)
        return "http://127.0.0.1"

    def create(_stack: Stack, name: str) -> str:
        asked.append(name)
        return "key"

    monkeypatch.setenv("LOCAL_HOME", str(tmp_path))
    monkeypatch.setattr(emulator, "port", lambda _stack: 4700)
    monkeypatch.setattr(lifecycle, "up", up)
    monkeypatch.setattr(company, "create", create)
    return asked


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["local", *arguments])
    return cli.main()


@pytest.mark.parametrize("port", ["0", "-1", "abc", "80", "65536", "4600x"])
def test_what_is_no_port_is_refused_in_one_line(
    asked: list[object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], port: str
) -> None:
    assert run(monkeypatch, "up", f"--port={port}") == 1
    said = capsys.readouterr().err
    assert said == f"'{port}' is no port: choose one between 1024 and 65535, as in make local LOCAL_PORT=4600\n"
    assert asked == []


@pytest.mark.parametrize("arguments, port", [(["--port=4600"], 4600), ([], 4700)])
def test_it_listens_where_it_is_told_or_where_it_did(
    asked: list[object], monkeypatch: pytest.MonkeyPatch, arguments: list[str], port: int
) -> None:
    assert run(monkeypatch, "up", *arguments) == 0
    assert asked == [port]


@pytest.mark.parametrize("name", ["acme", "-x", "--help", 'q"'])
def test_the_function_is_asked_for_any_name(
    asked: list[object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert run(monkeypatch, "company", "--", name) == 0
    assert asked == [name]
    assert capsys.readouterr().out == "key\n"
