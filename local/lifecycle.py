"""A stack's life: brought up whole or not at all, stopped with its data kept, or made for one command and discarded."""

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from local import cluster, company, deploy, emulator, permissions, processes, routes
from local.environments import ROOT
from local.runner import control
from local.stack import Stack, free_port, refuse_busy_port
from local.steps import LocalError, say, step

HOME = ROOT / ".local"
DISPOSABLE = "test-"
# In a disposable stack's home: the command that was run against it, by its identity.
COMMAND = "command"


def up(stack: Stack) -> str:
    """Starts, deploys and makes a key, as far as needed, and answers the API's address."""
    with _alone(stack.home):
        return _bring_up(stack)


def down(stack: Stack) -> None:
    """Stops everything and keeps the data."""
    with _alone(stack.home):
        if not _running(stack):
            say(f"The local stack in {os.path.relpath(stack.home)} was not running.")
            return
        with step("Stopping the local stack"):
            control.stop(stack)
            emulator.stop(stack)


def reset(stack: Stack) -> None:
    """Stops everything and forgets the data."""
    with _alone(stack.home):
        doing = "Stopping and forgetting" if _running(stack) else "Forgetting"
        with step(f"{doing} the local stack and its data"):
            _end(stack)
            shutil.rmtree(stack.state, ignore_errors=True)
            stack.env_file.unlink(missing_ok=True)


def run(command: list[str]) -> int:
    """Runs a command against a stack of its own; only a failure leaves a folder, with the logs, until the next run."""
    with _disposable() as stack:
        say(f"A stack for this run alone; its logs are in {stack.logs.relative_to(ROOT)}")
        base_url = _bring_up(stack)
        try:
            code = _call(command, stack, base_url)
        finally:
            _end(stack)
        if code == 0:
            shutil.rmtree(stack.home)
    return code


@contextmanager
def _disposable() -> Iterator[Stack]:
    """A new stack, of which this process holds the lock. What runs that are over have left is removed."""
    HOME.mkdir(exist_ok=True)
    with ExitStack() as held:
        # One after the other: a folder that is not locked yet looks like one that was left.
        everybody = os.open(HOME, os.O_RDONLY)
        try:
            fcntl.flock(everybody, fcntl.LOCK_EX)
            for folder in HOME.glob(f"{DISPOSABLE}*"):
                _discard_abandoned(folder)
            stack = Stack(Path(tempfile.mkdtemp(prefix=DISPOSABLE, dir=HOME)), free_port())
            held.enter_context(_alone(stack.home))
        finally:
            os.close(everybody)
        yield stack


def _bring_up(stack: Stack) -> str:
    here = emulator.port(stack)
    if here is None:
        refuse_busy_port(stack.port)
    elif here != stack.port:
        raise LocalError(f"The local stack already runs on port {here}: make local-down stops it first.")
    try:
        if here is None:
            control.stop(stack)  # Its emulator has died, and the next one may listen elsewhere.
            with step(f"Starting the emulator on port {stack.port}"):
                emulator.start(stack)
        deploy.deploy(stack)
        base_url = stack.base_url(deploy.outputs(stack)["ApiId"])
        with step("Bringing routes and rights up to date"):
            routes.sync(stack)
            permissions.sync(stack)
            cluster.sync(stack, base_url)
        with step("Waiting for the API to answer"):
            company.wait_healthy(stack, base_url)
        company.ensure(stack, base_url)
        if not control.whole(stack):
            with step("Starting the runner of services"):
                control.stop(stack)
                control.start(stack)
    except BaseException:
        if here is None:
            # Killed, not stopped: a half-made stack must not be saved over the data of the last one.
            _end(stack)
            say("  Stopped again what had been started.")
        raise
    return base_url


def _running(stack: Stack) -> bool:
    """Whether there is anything to stop."""
    return emulator.running(stack) or control.running(stack)


def _end(stack: Stack) -> None:
    """Stops everything without saving the data; what runs for services can still finish with the API."""
    control.stop(stack)
    emulator.kill(stack)


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Holds a stack's lock, which goes with the process whatever ends it; a second command is refused."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LocalError("Another command is starting or stopping this stack: wait until it has ended.") from None
        yield


def _discard_abandoned(folder: Path) -> None:
    """Removes what a run that was killed, or that failed, has left."""
    try:
        with _alone(folder):
            _end_command(folder)
            _end(Stack(folder, 0))
            shutil.rmtree(folder)
    except LocalError:
        return


def _end_command(folder: Path) -> None:
    """A run that was killed has ended nothing that it started."""
    noted = folder / COMMAND
    identity = noted.read_text() if noted.is_file() else ""
    for process in processes.running():
        if process.identity == identity:
            processes.send(process, signal.SIGTERM)


def _call(command: list[str], stack: Stack, base_url: str) -> int:
    key = company.known_key(stack.env_file) or ""
    where = {"LOCAL_HOME": str(stack.home), "NAIVE_BASE_URL": base_url, "NAIVE_API_KEY": key}
    # Tests that fake AWS run beside those that look behind this stack and name its endpoint themselves.
    apart = {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}
    try:
        child = subprocess.Popen(command, env=stack.environment() | where | apart)
    except OSError as fault:
        raise LocalError(f"{command[0]} cannot be run: {fault.strerror}.") from fault
    # The terminal interrupts the command as well, which ends in its own way.
    previous = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        mine = [process.identity for process in processes.running() if process.pid == child.pid]
        (stack.home / COMMAND).write_text("".join(mine))
        return child.wait()
    except BaseException:
        child.terminate()
        child.wait()
        raise
    finally:
        signal.signal(signal.SIGINT, previous)
