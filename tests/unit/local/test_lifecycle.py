"""A stack comes up whole or not at all, and one command at a time works on it."""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local import cluster, company, deploy, emulator, lifecycle, permissions, processes, routes
from local.runner import control
from local.stack import Stack, free_port
from local.steps import LocalError


class Emulator:
    """Stands in for the real one and its runner: it only remembers what runs and what was done."""

    def __init__(self) -> None:
        self.port: int | None = None
        self.runs = False
        self.done: list[str] = []
        self.told: list[str] = []

    def start(self, stack: Stack) -> None:
        self.port = stack.port
        self.done.append("start")

    def stop(self, _stack: Stack) -> None:
        self.port = None
        self.done.append("stop")

    def kill(self, _stack: Stack) -> None:
        self.port = None
        self.done.append("kill")

    def run(self) -> None:
        self.runs = True
        self.done.append("run")

    def end(self) -> None:
        if self.runs:
            self.done.append("end")
        self.runs = False


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Emulator:
    fake = Emulator()
    for name in ("start", "stop", "kill"):
        monkeypatch.setattr(emulator, name, getattr(fake, name))
    monkeypatch.setattr(emulator, "port", lambda _stack: fake.port)
    monkeypatch.setattr(emulator, "running", lambda _stack: fake.port is not None)
    monkeypatch.setattr(control, "start", lambda _stack: fake.run())
    monkeypatch.setattr(control, "stop", lambda _stack: fake.end())
    monkeypatch.setattr(control, "running", lambda _stack: fake.runs)
    monkeypatch.setattr(control, "whole", lambda _stack: fake.runs)
    monkeypatch.setattr(deploy, "deploy", lambda _stack: None)
    monkeypatch.setattr(deploy, "outputs", lambda _stack: {"ApiId": "abc"})
    monkeypatch.setattr(routes, "sync", lambda _stack: None)
    monkeypatch.setattr(permissions, "sync", lambda _stack: None)
    monkeypatch.setattr(cluster, "sync", lambda _stack, base_url: fake.told.append(base_url))
    monkeypatch.setattr(company, "wait_healthy", lambda _stack, _base_url: None)
    monkeypatch.setattr(company, "ensure", _write_key)
    return fake


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    return Stack(tmp_path / ".local", free_port())


def _write_key(stack: Stack, base_url: str) -> None:
    company.write_env_file(stack.env_file, base_url, "nv_sk_live_k")


def _fail(_stack: Stack) -> None:
    raise LocalError("sam deploy failed")


def test_it_answers_where_the_api_is(fake: Emulator, stack: Stack) -> None:
    assert lifecycle.up(stack) == f"http://127.0.0.1:{stack.port}/_aws/execute-api/abc"
    assert fake.done == ["start", "run"]


def test_one_that_runs_is_not_started_again(fake: Emulator, stack: Stack) -> None:
    lifecycle.up(stack)
    lifecycle.up(stack)
    assert fake.done == ["start", "run"]


def test_a_runner_that_has_died_is_started_again(fake: Emulator, stack: Stack) -> None:
    lifecycle.up(stack)
    fake.runs = False
    lifecycle.up(stack)
    assert fake.done == ["start", "run", "run"]


def test_a_runner_whose_emulator_has_died_is_ended_before_the_next_begins(fake: Emulator, stack: Stack) -> None:
    lifecycle.up(stack)
    fake.port = None
    lifecycle.up(stack)
    assert fake.done == ["start", "run", "end", "start", "run"]


def test_a_runner_that_does_not_start_ends_what_was_started(
    fake: Emulator, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "start", _fail)
    with pytest.raises(LocalError):
        lifecycle.up(stack)
    assert fake.done == ["start", "kill"]


def test_a_runner_that_is_left_alone_is_stopped_too(fake: Emulator, stack: Stack) -> None:
    lifecycle.up(stack)
    fake.port = None
    lifecycle.down(stack)
    assert fake.done == ["start", "run", "end", "stop"]


def test_services_are_told_where_the_api_is_each_time_since_another_port_is_another_address(
    fake: Emulator, stack: Stack
) -> None:
    assert fake.told == [lifecycle.up(stack)]


@pytest.mark.parametrize("fault", [LocalError("sam deploy failed"), KeyboardInterrupt(), RuntimeError()])
def test_what_a_failed_start_has_started_is_killed(
    fake: Emulator, stack: Stack, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    def deployment(_stack: Stack) -> None:
        raise fault

    monkeypatch.setattr(deploy, "deploy", deployment)
    with pytest.raises(type(fault)):
        lifecycle.up(stack)
    assert fake.done == ["start", "kill"]


def test_a_failed_redeployment_leaves_the_running_stack_alone(
    fake: Emulator, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    lifecycle.up(stack)
    monkeypatch.setattr(deploy, "deploy", _fail)
    with pytest.raises(LocalError):
        lifecycle.up(stack)
    assert fake.done == ["start", "run"]


def test_another_port_is_refused_while_it_runs(fake: Emulator, stack: Stack) -> None:
    lifecycle.up(stack)
    with pytest.raises(LocalError, match=f"already runs on port {stack.port}: make local-down stops it first"):
        lifecycle.up(Stack(stack.home, free_port()))


@pytest.mark.parametrize("command", [lifecycle.up, lifecycle.down, lifecycle.reset])
def test_a_second_command_is_refused_while_one_is_at_work(
    fake: Emulator, stack: Stack, monkeypatch: pytest.MonkeyPatch, command: Callable[[Stack], object]
) -> None:
    def meanwhile(_stack: Stack) -> None:
        with pytest.raises(LocalError, match="Another command is starting or stopping"):
            command(stack)

    monkeypatch.setattr(deploy, "deploy", meanwhile)
    lifecycle.up(stack)


def test_reset_forgets_the_data_and_the_key(fake: Emulator, stack: Stack) -> None:
    lifecycle.up(stack)
    stack.state.mkdir()
    lifecycle.reset(stack)
    assert fake.done == ["start", "run", "end", "kill"]
    assert not stack.state.exists()
    assert not stack.env_file.exists()


def test_down_keeps_the_data_and_the_key(fake: Emulator, stack: Stack) -> None:
    lifecycle.up(stack)
    stack.state.mkdir()
    lifecycle.down(stack)
    assert fake.done == ["start", "run", "end", "stop"]
    assert stack.state.exists()
    assert stack.env_file.exists()


def test_down_says_when_nothing_was_running(fake: Emulator, stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    lifecycle.down(stack)
    assert fake.done == []
    said = capsys.readouterr().err
    assert said.endswith("was not running.\n")
    assert "Stopping" not in said


def test_reset_forgets_the_data_of_a_stack_that_is_not_running(
    stack: Stack, fake: Emulator, capsys: pytest.CaptureFixture[str]
) -> None:
    stack.state.mkdir(parents=True)
    lifecycle.reset(stack)
    assert not stack.state.exists()
    assert "Stopping" not in capsys.readouterr().err


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(lifecycle, "ROOT", tmp_path)
    monkeypatch.setattr(lifecycle, "HOME", tmp_path / ".local")
    return tmp_path / ".local"


@pytest.mark.usefixtures("fake")
def test_a_run_gives_the_command_a_stack_of_its_own_and_leaves_nothing(home: Path) -> None:
    check = (
        "import os, sys; sys.exit(not (os.environ['LOCAL_HOME'].startswith(sys.argv[1]) and"
        " os.environ['NAIVE_API_KEY'] == 'nv_sk_live_k' and os.environ['NAIVE_BASE_URL'].endswith('/abc')))"
    )
    assert lifecycle.run([sys.executable, "-c", check, str(home / "test-")]) == 0
    assert list(home.iterdir()) == []


def test_a_failed_run_answers_the_commands_code_and_keeps_the_logs_until_the_next(fake: Emulator, home: Path) -> None:
    assert lifecycle.run([sys.executable, "-c", "raise SystemExit(7)"]) == 7
    assert fake.done == ["start", "run", "end", "kill"]
    assert len(list(home.iterdir())) == 1
    assert lifecycle.run([sys.executable, "-c", ""]) == 0
    assert list(home.iterdir()) == []


@pytest.mark.usefixtures("fake")
def test_a_run_that_begins_beside_another_does_not_take_its_folder_for_one_that_was_left(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []

    def making(**where: Any) -> Any:
        folder = os.open(home, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held.append(False)
        except BlockingIOError:
            held.append(True)
        finally:
            os.close(folder)
        return make(**where)

    make = tempfile.mkdtemp
    monkeypatch.setattr(tempfile, "mkdtemp", making)
    assert lifecycle.run([sys.executable, "-c", ""]) == 0
    assert held == [True]


def test_a_command_that_cannot_be_run_is_named_and_the_stack_ended(fake: Emulator, home: Path) -> None:
    with pytest.raises(LocalError, match="no-such-command cannot be run"):
        lifecycle.run(["no-such-command"])
    assert fake.done[-1] == "kill"


@pytest.mark.usefixtures("fake")
def test_the_command_of_a_run_that_was_killed_is_ended_by_the_next(home: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as left, subprocess.Popen(["sleep", "60"]) as other:
        try:
            (mine,) = [process for process in processes.running() if process.pid == left.pid]
            (home / "test-killed").mkdir(parents=True)
            (home / "test-killed" / "command").write_text(mine.identity)
            assert lifecycle.run([sys.executable, "-c", ""]) == 0
            assert left.wait(10) == -signal.SIGTERM
            assert other.poll() is None
        finally:
            left.kill()
            other.kill()
    assert list(home.iterdir()) == []


@pytest.mark.usefixtures("fake")
def test_a_run_notes_its_command_for_the_next(home: Path) -> None:
    noted = "import os, pathlib, sys, time; time.sleep(0.5); sys.exit(not pathlib.Path(os.environ['LOCAL_HOME'],"
    noted += " 'command').read_text().startswith(f'{os.getpid()} '))"
    assert lifecycle.run([sys.executable, "-c", noted]) == 0


def test_an_interrupt_reaches_the_command_and_ends_the_stack_afterwards(fake: Emulator, home: Path) -> None:
    end_itself = f"import os, signal; os.kill(os.getppid(), {int(signal.SIGINT)}); raise SystemExit(2)"
    assert lifecycle.run([sys.executable, "-c", end_itself]) == 2
    assert fake.done == ["start", "run", "end", "kill"]
