"""The command as a process: its signals, and streams that are closed, full, broken or a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from tests.unit.clients.fake_api import KEY, QUEUE_ID, Served, message_json, queue_json

WATCHED: dict[str, object] = queue_json(attributes={"depth": 0, "in_flight": 0, "delayed": 0})
PAGE: dict[str, object] = {"queues": [], "next_cursor": None}
SENT = {"message_id": "m-1"}
MAIN = "from naive.cli import main; main()"


@pytest.fixture
def environment(home: Path, served: Served) -> dict[str, str]:
    """What a process finds that has a key, and the server as its address."""
    return {**os.environ, "HOME": str(home), "NAIVE_API_KEY": KEY, "NAIVE_BASE_URL": served.url, "TERM": "xterm"}


def run(
    environment: dict[str, str], *arguments: str, shell: str = 'exec "$@"', code: str = MAIN
) -> subprocess.CompletedProcess[bytes]:
    """Run the command under a shell, which may do something to its streams first."""
    command = ["sh", "-c", shell, "sh", sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=environment, input=b"", capture_output=True, timeout=60, check=False)


class Terminal:
    """The command on a terminal of 80 columns."""

    def __init__(self, environment: dict[str, str], *arguments: str) -> None:
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        command = [sys.executable, "-c", MAIN, *arguments]
        self.process = subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        self.shown = b""

    def shows(self, awaited: bytes) -> bool:
        """Wait until it is there; without it the command has ended."""
        while awaited not in self.shown:
            try:
                read = os.read(self._ours, 4096)
            except OSError:  # Linux's way to say that nobody is there
                read = b""
            if not read:
                return False
            self.shown += read
        return True

    def interrupt(self) -> None:
        """Press Ctrl-C, again where Python was just about to read and did not notice."""
        while self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(1)

    def ends(self) -> int:
        """Wait for the end; the answer is the exit code."""
        assert not self.shows(b"what no command prints")
        os.close(self._ours)
        return self.process.wait(60)


INTERRUPTED_WHILE_LOADING = f"""
import signal, sys
class Interrupt:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "typer":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupt)
{MAIN}
"""
INTERRUPTED_AT_THE_END = f"""
import atexit, signal
atexit.register(signal.raise_signal, signal.SIGINT)
{MAIN}
"""
BROKEN = f"""
import naive.cli.app
def fail():
    raise RuntimeError("{KEY} is odd")
naive.cli.app.app = fail
{MAIN}
"""


def test_a_bug_is_one_line_without_a_key(environment: dict[str, str]) -> None:
    ended = run(environment, "queue", "list", code=BROKEN)
    said = "Error: RuntimeError: nv_sk_live_… is odd. This is a bug in naive, please report it.\n"
    assert (ended.returncode, ended.stdout, ended.stderr.decode()) == (1, b"", said)


def test_ctrl_c_while_the_command_is_being_loaded_is_quiet(environment: dict[str, str]) -> None:
    ended = run(environment, "queue", "list", code=INTERRUPTED_WHILE_LOADING)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")


def test_ctrl_c_when_all_is_done_is_quiet(environment: dict[str, str]) -> None:
    ended = run(environment, "--version", code=INTERRUPTED_AT_THE_END)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"0.1.0\n", b"")


def test_ctrl_c_at_a_question_is_quiet(environment: dict[str, str]) -> None:
    terminal = Terminal(environment, "queue", "purge", QUEUE_ID)
    assert terminal.shows(b"[y/N]: ")
    terminal.interrupt()
    assert terminal.ends() == 130
    assert b"Abort" not in terminal.shown


@pytest.mark.parametrize(
    "arguments", [("queue", "send", "q", "-"), ("queue", "send", QUEUE_ID, "--file", "-"), ("login",)]
)
def test_a_closed_stdin_is_wrong_usage(environment: dict[str, str], arguments: tuple[str, ...]) -> None:
    ended = run(environment, *arguments, shell='exec "$@" <&-')
    assert ended.returncode == 2
    assert b"stdin is closed" in ended.stderr


def test_nobody_is_asked_on_a_closed_stdin(environment: dict[str, str], served: Served) -> None:
    served.answer = {"status": "purging", "done_by": "2026-01-02T03:05:05Z"}
    assert run(environment, "queue", "purge", QUEUE_ID, shell='exec "$@" <&-').returncode == 0


CLOSED = 'exec "$@" >&-'
FULL = 'ulimit -f 0; exec "$@" >"$HOME/out"'


@pytest.mark.parametrize(("shell", "reason"), [(CLOSED, b"it is closed"), (FULL, b"File too large")])
def test_an_answer_that_cannot_be_written_is_told_to_be_lost(
    environment: dict[str, str], served: Served, shell: str, reason: bytes
) -> None:
    served.answer = SENT
    ended = run(environment, "queue", "send", QUEUE_ID, "x", shell=shell)
    assert served.paths == [f"/v1/queue/{QUEUE_ID}/messages"]
    assert ended.returncode == 1
    assert ended.stderr == (
        b"Error: The call succeeded, but its answer could not be written to stdout: " + reason + b".\n"
    )


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("queue", "list", "--help")])
def test_help_that_cannot_be_written_is_one_line(environment: dict[str, str], arguments: tuple[str, ...]) -> None:
    ended = run(environment, *arguments, shell=FULL)
    assert (ended.returncode, ended.stderr) == (1, b"Error: File too large.\n")


@pytest.mark.parametrize("arguments", [("queue", "list"), ("queue", "watch", QUEUE_ID), ("--help",)])
def test_a_reader_that_has_gone_is_no_failure_to_speak_of(
    environment: dict[str, str], served: Served, arguments: tuple[str, ...]
) -> None:
    served.answer = {**PAGE, **WATCHED}
    ours, theirs = os.pipe()
    os.close(ours)
    with os.fdopen(theirs, "wb") as pipe:
        command = [sys.executable, "-c", MAIN, *arguments]
        ended = subprocess.run(command, env=environment, stdout=pipe, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (141, b"")


@pytest.mark.parametrize("arguments", [("queue", "list"), ("queue", "explode"), ("queue", "list", "--limit", "x")])
@pytest.mark.parametrize("shell", ['exec "$@" 2>&-', 'ulimit -f 0; exec "$@" 2>"$HOME/err"'])
def test_words_that_nobody_hears_are_no_data(
    environment: dict[str, str], served: Served, arguments: tuple[str, ...], shell: str
) -> None:
    served.answer = {"queues": [], "next_cursor": "abc"}
    ended = run(environment, *arguments, shell=shell)
    assert ended.stdout in (b"", json.dumps(served.answer).encode() + b"\n")
    assert (ended.returncode == 0) == (arguments == ("queue", "list"))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_lacks_a_character_shows_another(
    environment: dict[str, str], served: Served, encoding: str
) -> None:
    served.answer = {"messages": [message_json(body="naïve 🐘")]}
    terminal = Terminal({**environment, "PYTHONIOENCODING": encoding}, "queue", "dlq", QUEUE_ID)
    assert terminal.ends() == 0
    assert "naïve ?".encode(encoding, errors="replace") in terminal.shown
    piped = run({**environment, "PYTHONIOENCODING": encoding}, "queue", "dlq", QUEUE_ID)
    assert "naïve 🐘".encode() in piped.stdout


@pytest.mark.parametrize("wish", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_an_error_is_not_coloured_for_those_who_do_not_want_it(
    environment: dict[str, str], served: Served, wish: dict[str, str]
) -> None:
    served.answer = PAGE
    terminal = Terminal({**environment, **wish}, "queue", "show", "nope")
    assert terminal.ends() == 1
    assert terminal.shown.startswith(b"Error: No queue is called")


def test_a_dumb_terminal_gets_no_escapes_at_all(environment: dict[str, str], served: Served) -> None:
    served.answer = WATCHED
    terminal = Terminal({**environment, "TERM": "dumb"}, "queue", "watch", QUEUE_ID, "--count", "1")
    assert terminal.ends() == 0
    assert b"\x1b" not in terminal.shown


def test_a_proxy_is_not_in_the_way_of_this_machine(environment: dict[str, str], served: Served) -> None:
    served.answer = PAGE
    assert run({**environment, "http_proxy": "http://127.0.0.1:9"}, "queue", "list").returncode == 0
