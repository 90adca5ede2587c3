"""`naive queue work` as a process: what its commands get, what becomes of the messages, and its signals."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.unit.clients.fake_api import KEY, QUEUE_ID, Run, queue_json
from tests.unit.clients.fake_queue import FakeQueue
from tests.unit.clients.test_cli_process import Terminal

MAIN = "import naive.constants; naive.constants.KILL_SECONDS = {kill}; from naive.cli import main; main()"


@pytest.fixture
def queue() -> FakeQueue:
    return FakeQueue()


@pytest.fixture
def environment(home: Path, queue: FakeQueue) -> Iterator[dict[str, str]]:
    """What a worker finds in its environment, with the queue as its server."""
    with queue.served() as url:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NAIVE_")}
        yield {**kept, "HOME": str(home), "NAIVE_API_KEY": KEY, "NAIVE_BASE_URL": url, "TERM": "xterm"}


class Worker:
    """A worker with a command, in the home directory."""

    def __init__(self, environment: dict[str, str], *arguments: str, kill: float = 5.0) -> None:
        command = [sys.executable, "-c", MAIN.format(kill=kill), "queue", "work", QUEUE_ID, *arguments]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment, cwd=environment["HOME"], stdout=pipe, stderr=pipe)

    def ends(self, code: int = 0) -> tuple[list[Any], str]:
        """Wait for the end; the answer is what it told of the messages, and its words."""
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == code, err.decode()
        return [json.loads(line) for line in out.splitlines()], err.decode()


def until_empty(environment: dict[str, str], *arguments: str) -> tuple[list[Any], str]:
    """Work until nothing is left."""
    return Worker(environment, *arguments, "--idle-exit", "0", "--wait", "0").ends()


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until, "it never came to that"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_command_gets_the_body_as_it_is_and_exit_code_0_acks(
    environment: dict[str, str], queue: FakeQueue, home: Path
) -> None:
    queue.put("a", body="line\r\nline\n é 😀 ")
    lines, words = until_empty(environment, "--exec", "cat > body; echo said; echo told >&2")
    assert (home / "body").read_bytes().decode() == "line\r\nline\n é 😀 "
    assert queue.acked == ["a"]
    (line,) = lines
    assert 0 <= line.pop("seconds") < 20
    assert line == {"message_id": "a", "outcome": "done", "receive_count": 1, "exit_code": 0}
    assert {"said", "told"} <= set(words.splitlines())
    assert words.splitlines()[-1] == "done 1, failed 0, given back 0, lost 0."


@pytest.mark.parametrize(("command", "code"), [("exit 3", 3), ("kill -9 $$", 137), ("no-such-command", 127)])
def test_any_other_exit_code_gives_the_message_back(
    environment: dict[str, str], queue: FakeQueue, command: str, code: int
) -> None:
    queue.put("a")
    lines, words = until_empty(environment, "--exec", command)
    assert [(line["outcome"], line["exit_code"]) for line in lines] == [("failed", code)]
    assert 1 <= dict(queue.given_back)["a"] <= 2
    assert "failed 1" in words


def test_a_command_that_does_not_read_a_large_body_is_no_problem(environment: dict[str, str], queue: FakeQueue) -> None:
    queue.put("a", body="x" * 1_000_000)
    lines, _ = until_empty(environment, "--exec", "true")
    assert lines[0]["outcome"] == "done"


def test_the_environment_tells_the_rest(environment: dict[str, str], queue: FakeQueue, home: Path) -> None:
    queue.about = queue_json(dlq=True, max_receive_count=7)
    attributes = {"kind": "resize", "trace-id": 'a "b" é'}
    queue.put("a", receive_count=2, group_id="g", attributes=attributes)
    until_empty({**environment, "NAIVE_DEDUP_ID": "of another", "NAIVE_ATTRIBUTE_OLD": "x"}, "--exec", "env > seen")
    seen = dict(line.split("=", 1) for line in (home / "seen").read_text().splitlines() if "=" in line)
    ours = {name: value for name, value in seen.items() if name.startswith("NAIVE_")}
    assert json.loads(ours.pop("NAIVE_ATTRIBUTES")) == attributes
    assert ours == {
        "NAIVE_API_KEY": KEY,
        "NAIVE_BASE_URL": environment["NAIVE_BASE_URL"],
        "NAIVE_QUEUE_ID": QUEUE_ID,
        "NAIVE_MESSAGE_ID": "a",
        "NAIVE_RECEIVE_COUNT": "2",
        "NAIVE_MAX_RECEIVE_COUNT": "7",
        "NAIVE_SENT_AT": "2026-01-02T03:04:05Z",
        "NAIVE_GROUP_ID": "g",
        "NAIVE_ATTRIBUTE_KIND": "resize",
        "NAIVE_ATTRIBUTE_TRACE_ID": 'a "b" é',
    }


def test_attributes_that_no_environment_can_hold_are_left_out(
    environment: dict[str, str], queue: FakeQueue, home: Path
) -> None:
    queue.put("a", attributes={"large": "x" * 500_000})
    until_empty(environment, "--exec", "echo $NAIVE_ATTRIBUTES_OMITTED $NAIVE_ATTRIBUTE_LARGE > seen")
    assert (home / "seen").read_text() == "true\n"


def test_sigterm_lets_the_command_finish(environment: dict[str, str], queue: FakeQueue, home: Path) -> None:
    queue.put("a", "b")
    worker = Worker(environment, "--exec", "touch started; sleep 1")
    wait_for((home / "started").exists)
    worker.process.send_signal(signal.SIGTERM)
    lines, _ = worker.ends()
    assert [(line["message_id"], line["outcome"]) for line in lines] == [("a", "done")]
    assert (queue.acked, queue.given_back) == (["a"], [])


TREE = "sh -c 'echo $$ > child; sleep 60' & echo $$ > parent; wait"


def test_a_second_signal_ends_the_command_with_all_it_has_started(
    environment: dict[str, str], queue: FakeQueue, home: Path
) -> None:
    queue.put("a")
    worker = Worker(environment, "--exec", TREE)
    wait_for(lambda: all((home / name).exists() and (home / name).read_text() for name in ("parent", "child")))
    worker.process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert queue.given_back == []
    worker.process.send_signal(signal.SIGINT)
    lines, words = worker.ends(1)
    assert [(line["outcome"], line["exit_code"]) for line in lines] == [("given_back", None)]
    assert queue.given_back == [("a", 0)]
    assert "Cut off while at work: 1." in words
    wait_for(lambda: not any(is_alive(int((home / name).read_text())) for name in ("parent", "child")))


def test_a_command_that_does_not_end_by_sigterm_is_killed(
    environment: dict[str, str], queue: FakeQueue, home: Path
) -> None:
    queue.put("a")
    stubborn = "trap '' TERM; echo $$ > parent; while :; do sleep 0.1; done"
    worker = Worker(environment, "--exec", stubborn, "--drain-seconds", "0.1", kill=0.5)
    wait_for(lambda: (home / "parent").exists() and bool((home / "parent").read_text()))
    worker.process.send_signal(signal.SIGTERM)
    worker.ends(1)
    assert queue.given_back == [("a", 0)]
    assert not is_alive(int((home / "parent").read_text()))


def test_ctrl_c_on_the_terminal_is_not_for_the_command(
    environment: dict[str, str], queue: FakeQueue, home: Path
) -> None:
    queue.put("a")
    worker = Worker(environment, "--exec", "ps -o pgid= $$ > group; touch started; sleep 0.5")
    wait_for((home / "started").exists)
    assert int((home / "group").read_text()) != os.getpgid(worker.process.pid)
    worker.process.send_signal(signal.SIGINT)
    worker.ends()
    assert queue.acked == ["a"]


def test_a_person_sees_counters_and_what_commands_write(environment: dict[str, str], queue: FakeQueue) -> None:
    queue.put("a")
    terminal = Terminal(environment, "queue", "work", "jobs", "--exec", "echo 'hello \033[2J'; cat; exit 1")
    assert terminal.shows(b"Ctrl-C drains")
    assert terminal.shows(b"hello \\x1b[2J")
    wait_for(lambda: bool(queue.given_back) and queue.polling == 1)
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.shows(b"Ctrl-C gives back at once")
    queue.put("wakes the poll")
    assert terminal.ends() == 0
    assert b"done 0, failed 2, given back 0, lost 0." in terminal.shown


def test_a_worker_whose_reader_has_gone_drains(environment: dict[str, str], queue: FakeQueue) -> None:
    queue.put("a")
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-c", MAIN.format(kill=5), "queue", "work", "--exec", "true", "--wait", "1"]
    queue_id = {"NAIVE_QUEUE_ID": QUEUE_ID}
    with os.fdopen(theirs, "wb") as pipe:
        ended = subprocess.run(command, env={**environment, **queue_id}, stdout=pipe, timeout=60, check=False)
    assert ended.returncode == 141
    assert queue.acked == ["a"]


class _Hook(BaseHTTPRequestHandler):
    server: Hooked

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append((dict(self.headers), content))
        status, headers = self.server.answers.pop(0)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Hooked(ThreadingHTTPServer):
    """Something that is called for each message."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Hook)
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/jobs?x=1"


@pytest.fixture
def hook() -> Iterator[Hooked]:
    with Hooked() as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_url_gets_the_body_and_what_a_webhook_gets(
    environment: dict[str, str], queue: FakeQueue, hook: Hooked
) -> None:
    queue.put("a", body='{"task": "é"}', receive_count=2, group_id="g", attributes={"kind": "é"})
    hook.answers = [(204, {})]
    lines, _ = until_empty(environment, "--url", hook.url)
    ((headers, content),) = hook.got
    assert content.decode() == '{"task": "é"}'
    named = {name.lower(): value for name, value in headers.items()}
    assert json.loads(base64.urlsafe_b64decode(named["naive-attributes"])) == {"kind": "é"}
    assert named["webhook-id"] == "a"
    assert (named["content-type"], named["naive-queue-id"]) == ("application/json", QUEUE_ID)
    assert (named["naive-receive-count"], named["naive-group-id"]) == ("2", "g")
    assert [(line["outcome"], line["status"]) for line in lines] == [("done", 204)]
    assert "authorization" not in named


def test_a_url_that_does_not_answer_2xx_gives_the_message_back(
    environment: dict[str, str], queue: FakeQueue, hook: Hooked
) -> None:
    queue.put("plain", "wait", "elsewhere", attributes={"large": "x" * 5000})
    hook.answers = [(500, {}), (429, {"Retry-After": "77"}), (302, {"Location": hook.url})]
    lines, _ = until_empty(environment, "--url", hook.url)
    assert [(line["outcome"], line["status"]) for line in lines] == [("failed", 500), ("failed", 429), ("failed", 302)]
    delays = dict(queue.given_back)
    assert delays["plain"] <= 2
    assert delays["wait"] == 77
    headers = {name.lower(): value for name, value in hook.got[0][0].items()}
    assert (headers["content-type"], headers["naive-attributes-omitted"]) == ("text/plain; charset=utf-8", "true")
    assert "naive-attributes" not in headers


def test_a_url_where_nobody_listens_gives_the_message_back_and_says_why(
    environment: dict[str, str], queue: FakeQueue
) -> None:
    queue.put("a")
    lines, words = until_empty(environment, "--url", "http://127.0.0.1:9/")
    assert [(line["outcome"], line["status"]) for line in lines] == [("failed", None)]
    assert "ConnectError" in words


@pytest.mark.parametrize(
    "arguments",
    [
        (QUEUE_ID,),
        (QUEUE_ID, "--exec", "x", "--url", "http://x"),
        ("--exec", "x"),
        (QUEUE_ID, "--exec", "x", "--concurrency", "0"),
        (QUEUE_ID, "--exec", "x", "--visibility", "4"),
        (QUEUE_ID, "--exec", ""),
    ],
)
def test_wrong_usage(run: Run, arguments: tuple[str, ...]) -> None:
    assert run("queue", "work", *arguments).exit_code == 2
