"""Starts, finds and stops the runner of a stack: by its command line, as the emulator is."""

import os
import re
import signal
import subprocess
import sys
import time

from local import processes
from local.environments import ROOT
from local.processes import Process
from local.runner.tasks import GRACE_SECONDS
from local.stack import Stack
from local.steps import LocalError

READY = "The runner is ready."
_READY_WITHIN = 30
_STOPPED_WITHIN = GRACE_SECONDS + 10


def start(stack: Stack) -> None:
    """Starts it in the background and waits until it looks after services."""
    log = stack.logs / "services.log"
    with log.open("w") as file:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "local.runner.keeper", str(stack.home), str(stack.port)],
            cwd=ROOT,
            env=stack.environment(),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + _READY_WITHIN
    while READY not in log.read_text(errors="replace"):
        if keeper.poll() is not None or time.monotonic() > deadline:
            raise LocalError(f"The runner of services did not start: its last words are in {os.path.relpath(log)}.")
        time.sleep(0.05)


def running(stack: Stack) -> bool:
    """Whether there is anything to stop."""
    return bool(_found(stack))


def whole(stack: Stack) -> bool:
    """Whether it runs, and is not just what a runner that was killed has left."""
    return len(_found(stack)) == 2


def stop(stack: Stack) -> None:
    """Ends it with all that it runs, which has its time to finish what it does."""
    sessions = {process.session for process in _found(stack)}
    for process in _found(stack):
        processes.send(process, signal.SIGTERM)
    if not processes.wait_gone(lambda: _found(stack), _STOPPED_WITHIN):
        for process in processes.running():
            if process.session in sessions:
                processes.send(process, signal.SIGKILL)
        processes.wait_gone(lambda: _found(stack), GRACE_SECONDS)


def _found(stack: Stack) -> list[Process]:
    """The runner and its keeper."""
    pattern = re.compile(rf".* -m local\.runner(\.keeper)? {re.escape(str(stack.home))} \d+")
    return [process for process in processes.running() if pattern.fullmatch(process.command)]
