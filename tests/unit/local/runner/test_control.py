"""The runner starts, is found and ends, and nothing that it has started outlives it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local import processes
from local.environments import ROOT
from local.processes import Process
from local.runner import control, keeper
from local.stack import Stack, free_port
from local.steps import LocalError
from tests.unit.local.runner.conftest import until

# As the command that starts a runner does, these leave it to itself.
pytestmark = pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
KEEP = "import sys; from local.runner import keeper; keeper.GRACE_SECONDS = 1; sys.exit(keeper.keep(sys.argv[1:]))"


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[Stack]:
    """A stack whose emulator does not answer."""
    stack = Stack(tmp_path / "a (stack)", free_port())
    stack.logs.mkdir(parents=True)
    yield stack
    control.stop(stack)


def of(stack: Stack) -> list[Process]:
    return [process for process in processes.running() if f" {stack.home} " in process.command]


def test_it_starts_and_stops_whole(silent: Stack) -> None:
    assert not control.running(silent)
    control.start(silent)
    assert control.running(silent)
    assert control.whole(silent)
    assert len(of(silent)) == 2
    control.stop(silent)
    assert of(silent) == []


def test_a_runner_of_another_stack_is_left_alone(silent: Stack) -> None:
    control.start(silent)
    other = Stack(silent.home.with_name("a"), silent.port)
    control.stop(other)
    assert control.whole(silent)
    assert not control.running(other)


@pytest.mark.parametrize("which", ["local.runner", "local.runner.keeper"])
def test_neither_goes_on_without_the_other(silent: Stack, which: str) -> None:
    control.start(silent)
    (victim,) = (process for process in of(silent) if f" {which} " in process.command)
    processes.send(victim, signal.SIGKILL)
    until(lambda: of(silent), lambda left: not left)


def test_one_that_does_not_start_says_where_its_last_words_are(silent: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "ROOT", silent.home)  # Where there is no such module.
    with pytest.raises(LocalError, match=r"runner of services did not start: its last words are in .*services.log"):
        control.start(silent)


STUBBORN_TASK = """
import os, pathlib, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with subprocess.Popen(["sleep", "600"], start_new_session=True) as child:
    pathlib.Path(sys.argv[1]).write_text(f"{os.getpid()} {child.pid}")
"""
RUNNER_THAT_DIES = """
import os, pathlib, signal, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", sys.argv[2], sys.argv[1]], process_group=0)
while not (path := pathlib.Path(sys.argv[1])).exists() or not path.read_text():
    time.sleep(0.05)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_dead_runner_has_left_is_ended_whatever_group_or_session_it_is_in(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    runner = [sys.executable, "-c", RUNNER_THAT_DIES, str(pids), STUBBORN_TASK]
    keeper = subprocess.run([sys.executable, "-c", KEEP, *runner], cwd=ROOT, start_new_session=True, check=False)
    left = {int(pid) for pid in pids.read_text().split()}
    assert len(left) == 2
    until(lambda: [process for process in processes.running() if process.pid in left], lambda found: not found)
    assert keeper.returncode != 0


def test_the_keeper_passes_on_that_it_is_to_end_and_answers_the_runners_code(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    script = f"trap 'exit 7' TERM; touch {ready}; while :; do sleep 0.05; done"
    command = [sys.executable, "-c", KEEP, "sh", "-c", script]
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as child:
        until(ready.exists, bool)
        child.terminate()
        assert child.wait(30) == 7


def test_containers_that_a_killed_runner_has_left_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    docker = tmp_path / "docker"
    docker.write_text(f'#!/bin/sh\necho "$@" >> {log}\n[ "$1" = ps ] && echo abc def\nexit 0\n')
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    codes = iter([0, -9])
    monkeypatch.setattr(keeper, "keep", lambda _command: next(codes))
    assert keeper.main("/home/x", "1") == 0
    assert not log.exists()
    assert keeper.main("/home/x", "1") == -9
    assert log.read_text().splitlines() == [
        "ps --all --quiet --filter label=naive.home=/home/x",
        "rm --force abc",
        "rm --force def",
    ]
