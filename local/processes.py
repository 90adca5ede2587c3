"""The processes of this machine, as far as needed to find and stop exactly those that a stack has started."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """A running process: its start time tells it from a later one that was given the same id."""

    pid: int
    started: str
    command: str
    parent: int = field(default=0, compare=False)
    """Who started it, or adopted it since."""

    @property
    def identity(self) -> str:
        """What no other process has, also once it is over."""
        return f"{self.pid} {self.started}"

    @property
    def session(self) -> int | None:
        """What it shares with all that it starts, unless those leave it; None once it is over."""
        try:
            return os.getsid(self.pid)
        except OSError:
            return None


def running() -> list[Process]:
    """All processes that run now; a zombie has ended and is not among them."""
    if (PROC / "self" / "stat").exists():
        found = [_from_proc(entry) for entry in PROC.iterdir() if entry.name.isdigit()]
    else:
        found = _from_ps("-A")
    return [process for process in found if process]


def with_descendants(ancestors: Callable[[Process], bool]) -> list[Process]:
    """The processes of which this holds, and all that they have started which still have their parents."""
    everybody = running()
    found = {process.pid for process in everybody if ancestors(process)}
    while more := {process.pid for process in everybody if process.parent in found} - found:
        found |= more
    return [process for process in everybody if process.pid in found]


def send(process: Process, number: signal.Signals) -> None:
    """Signals this process, unless it has ended and its id now belongs to another."""
    entry = PROC / str(process.pid)
    now = [_from_proc(entry)] if (PROC / "self" / "stat").exists() else _from_ps("-p", entry.name)
    if process in now:
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)


def wait_gone(find: Callable[[], list[Process]], seconds: float) -> bool:
    """Waits until `find` finds nothing, and says whether it came to that in time."""
    deadline = time.monotonic() + seconds
    while find():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _from_proc(entry: Path) -> Process | None:
    try:
        # The name in brackets may hold anything; what follows the last bracket starts with the state.
        fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
        command = (entry / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").replace("\0", " ")
    except OSError:
        return None
    return None if fields[0] in "ZX" else Process(int(entry.name), fields[19], command, int(fields[1]))


def _from_ps(*which: str) -> list[Process | None]:
    listing = subprocess.run(
        ["ps", *which, "-ww", "-o", "pid=,ppid=,stat=,lstart=,command="], capture_output=True, text=True, check=False
    )
    return [from_ps_line(line) for line in listing.stdout.splitlines()]


def from_ps_line(line: str) -> Process | None:
    pid, parent, state, *rest = line.split(maxsplit=8)
    return None if state.startswith("Z") else Process(int(pid), " ".join(rest[:5]), " ".join(rest[5:]), int(parent))
