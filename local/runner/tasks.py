"""One task: a process in a group and a folder of its own, ended as ECS ends a container."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from local import processes

GRACE_SECONDS = 30
"""How long a task may go on after it was told to end; on AWS it is longer, see stopTimeout in its definition."""


class CannotStart(Exception):
    """A task cannot be started; the text says why, to the owner of the service."""


@dataclass
class Task:
    """A process that runs for a service."""

    id: str
    deployment: str
    process: subprocess.Popen[bytes]
    folder: Path
    container: str | None = None
    """The name of the docker container that the process stands for, if it does."""
    started: float = field(default_factory=time.monotonic)
    _overdue: float | None = None

    @property
    def stopping(self) -> bool:
        return self._overdue is not None

    @property
    def age(self) -> float:
        return time.monotonic() - self.started

    @property
    def output(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def stop(self) -> None:
        """Tell it to end; it has its time to."""
        if not self.stopping:
            self._overdue = time.monotonic() + GRACE_SECONDS
            self._signal(signal.SIGTERM)

    def ended(self) -> bool:
        """Whether it has ended; it is killed once its time is over."""
        if self._overdue is not None and time.monotonic() > self._overdue:
            for process in processes.with_descendants(lambda process: process.pid == self.process.pid):
                processes.send(process, signal.SIGKILL)
        return self.process.poll() is not None

    def clean_up(self) -> None:
        """Remove what it has left: as in a container, nothing goes on when the first process has ended."""
        self._signal(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _signal(self, number: signal.Signals) -> None:
        # On a Mac, a group of processes that have all ended may not be signalled.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


def spawn(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> "subprocess.Popen[bytes]":
    """Start a command in a new folder, with this environment and no other. Raises CannotStart."""
    folder.mkdir(parents=True)
    try:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
    except (OSError, ValueError) as fault:
        folder.rmdir()
        raise CannotStart(f"{command[0]} cannot be run: {getattr(fault, 'strerror', None) or fault}.") from fault
