"""Only processes that are still the same are signalled."""

import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace

import pytest

from local import processes
from local.processes import Process


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as child:
        yield child
        child.kill()


def find(child: subprocess.Popen[bytes]) -> list[Process]:
    return [process for process in processes.running() if process.pid == child.pid]


def test_a_running_process_is_found_with_its_command(sleeper: subprocess.Popen[bytes]) -> None:
    assert [process.command for process in find(sleeper)] == ["sleep 60"]


def test_a_process_is_told_from_a_later_one_of_the_same_id(sleeper: subprocess.Popen[bytes]) -> None:
    (now,) = find(sleeper)
    processes.send(replace(now, started="long ago"), signal.SIGKILL)
    assert sleeper.poll() is None


def test_a_process_that_is_still_the_same_is_signalled(sleeper: subprocess.Popen[bytes]) -> None:
    (now,) = find(sleeper)
    processes.send(now, signal.SIGKILL)
    assert sleeper.wait(10) == -signal.SIGKILL


def test_one_that_has_ended_counts_as_gone_before_its_parent_has_looked(sleeper: subprocess.Popen[bytes]) -> None:
    (now,) = find(sleeper)
    sleeper.kill()
    assert processes.wait_gone(lambda: find(sleeper), 10)
    processes.send(now, signal.SIGKILL)


def test_waiting_for_one_that_stays_ends_in_time(sleeper: subprocess.Popen[bytes]) -> None:
    assert not processes.wait_gone(lambda: find(sleeper), 0.1)


def test_a_line_of_ps_is_read_as_a_process() -> None:
    line = "  812 S    Mon Nov 30 14:33:28 2026 /opt/python3.13 -X naive-local=4566:/a b/.local serve.py"
    assert processes.from_ps_line(line) == Process(
        812, "Mon Nov 30 14:33:28 2026", "/opt/python3.13 -X naive-local=4566:/a b/.local serve.py"
    )
    assert processes.from_ps_line("  813 Z+   Mon Nov 30 14:33:28 2026 (sleep)") is None
