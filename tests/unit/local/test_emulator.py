"""Which processes are a stack's own: the process table is all that says so."""

from pathlib import Path

import pytest

from local import emulator, environments, processes
from local.processes import Process
from local.stack import Stack

STACK = Stack(Path("/home/a b/.local"), 4600)
OTHER = Stack(Path("/home/a b/.local/test-1"), 4700)
EMULATOR = f"{environments.EMULATOR.python} -X naive-local=4600:/home/a b/.local {emulator.SCRIPT}"
WORKER = f"{environments.EMULATOR.python} /home/a b/.local/tmp/ministack-lambda-naive-local-health-x1/_worker.py"


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> list[Process]:
    found: list[Process] = []
    monkeypatch.setattr(processes, "running", lambda: found)
    return found


def test_the_emulator_tells_its_port(table: list[Process]) -> None:
    table.append(Process(7, "now", EMULATOR))
    assert emulator.port(STACK) == 4600


def test_the_emulator_of_another_home_is_not_ours(table: list[Process]) -> None:
    table.append(Process(7, "now", EMULATOR))
    assert emulator.port(OTHER) is None


def test_a_worker_is_ours_by_the_folder_it_runs_from(table: list[Process]) -> None:
    table.append(Process(8, "now", WORKER))
    assert emulator.workers(STACK) == table
    assert emulator.workers(OTHER) == []


@pytest.mark.parametrize("command", [f"tail -f {WORKER}", f"grep {EMULATOR}", f"vim {WORKER.split()[-1]}"])
def test_a_program_that_only_speaks_of_ours_is_not_ours(table: list[Process], command: str) -> None:
    table.append(Process(9, "now", command))
    assert emulator.port(STACK) is None
    assert emulator.workers(STACK) == []
