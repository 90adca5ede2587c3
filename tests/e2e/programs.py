"""Programs of Python that run beside a test."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from naive import Naive
from tests.e2e.test_thousand_jobs import wait_for


@dataclass(frozen=True)
class Program:
    """A program that runs."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def written(self) -> str:
        """All that it has said so far."""
        return self.log.read_text(encoding="utf-8")

    def says(self, text: str) -> None:
        """Wait until it has said this."""
        wait_for(lambda: text in self.written or self.process.poll() is not None)
        assert text in self.written, self.written

    def ends(self) -> str:
        """Wait until it has ended, and well; the answer is all that it has said."""
        assert self.process.wait(60) == 0, self.written
        return self.written


@contextmanager
def running(folder: Path, *words: str | Path, **env: str) -> Iterator[Program]:
    """Run a program in a folder until it ends, or the block does."""
    log = folder / "log.txt"
    with (
        log.open("wb") as file,
        subprocess.Popen(
            [sys.executable, *words],
            cwd=folder,
            env={**os.environ, **env, "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"},
            stdout=file,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            yield Program(process, log)
        finally:
            process.kill()


def wake_poll(naive: Naive, queue: str) -> None:
    """Let a receive that waits end early: a worker that was told to stop gives back what it brings."""
    time.sleep(1)
    naive.queue.send(queue, "wakes the poll")


def free_port() -> int:
    """A port that is free just now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
