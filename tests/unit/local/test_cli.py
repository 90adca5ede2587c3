"""What the verbs make of what they are given."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local import cli, company, emulator, lifecycle, logs
from local.stack import Stack
from local.steps import LocalError


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

    def create(_stack: Stack, name: str, *, new_key: bool) -> str:
        asked.append((name, new_key) if new_key else name)
        if name == "taken" and not new_key:
            raise LocalError("there is a company named 'taken'")
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


def test_a_name_that_is_taken_is_told_with_the_way_to_another_key(
    asked: list[object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "company", "--", "taken") == 1
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "there is a company named 'taken'",
        "Another key of a company that is there: make -s local-company NAME=taken NEW_KEY=1",
    ]
    assert run(monkeypatch, "company", "--new-key", "--", "taken") == 0
    assert asked == ["taken", ("taken", True)]


def test_a_reader_that_has_seen_enough_ends_a_verb_without_a_word(
    asked: list[object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    read, write = os.pipe()
    os.close(read)
    monkeypatch.setattr(logs, "follow", lambda *_arguments: print("a line"))
    with os.fdopen(write, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert run(monkeypatch, "logs") == 0
        print("more")
    assert capsys.readouterr().err == ""
