"""Only processes that are still the same are signalled."""

import os
import signal
import subprocess
import sys
import time
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


def test_a_process_is_in_the_session_of_whoever_started_it(sleeper: subprocess.Popen[bytes]) -> None:
    (now,) = find(sleeper)
    assert now.session == os.getsid(0)
    sleeper.kill()
    sleeper.wait()
    assert now.session is None


def test_the_descendants_of_a_process_are_found_in_whatever_session_they_are() -> None:
    script = "import subprocess; subprocess.run(['sh', '-c', 'sleep 61; true'], start_new_session=True)"
    with subprocess.Popen([sys.executable, "-c", script]) as child:

        def family() -> list[Process]:
            return processes.with_descendants(lambda process: process.pid == child.pid)

        patience = time.monotonic() + 30
        while len(family()) < 3 and time.monotonic() < patience:
            time.sleep(0.05)
        found = family()
        for process in found:
            processes.send(process, signal.SIGKILL)
    assert len(found) == 3
    assert processes.wait_gone(lambda: [process for process in processes.running() if process in found], 10)


def test_waiting_for_one_that_stays_ends_in_time(sleeper: subprocess.Popen[bytes]) -> None:
    assert not processes.wait_gone(lambda: find(sleeper), 0.1)


def test_a_line_of_ps_is_read_as_a_process() -> None:
    line = "  812   700 S    Mon Nov 30 14:33:28 2026 /opt/python3.13 -X naive-local=4566:/a b/.local serve.py"
    found = processes.from_ps_line(line)
    command = "/opt/python3.13 -X naive-local=4566:/a b/.local serve.py"
    assert found == Process(812, "Mon Nov 30 14:33:28 2026", command)
    assert found.parent == 700
    assert processes.from_ps_line("  813     1 Z+   Mon Nov 30 14:33:28 2026 (sleep)") is None
