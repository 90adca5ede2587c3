"""The emulator (MiniStack) of a stack: started apart from the terminal, found again, and stopped to the last worker.

There is no file of process ids that could be out of date: the emulator's command line names its port and its stack's
home, and its Lambda workers run from a folder in that home, so the process table itself says what is running.
"""

import os
import re
import shutil
import signal
import subprocess
import time

from botocore.exceptions import BotoCoreError, ClientError

from local import processes
from local.environments import EMULATOR, ROOT
from local.processes import Process
from local.stack import HOST, IMPATIENT, ROOT_KEY, Stack, refuse_busy_port
from local.steps import LocalError

SCRIPT = ROOT / "local" / "serve.py"
READY_WITHIN = 60
# How long functions may go on with what they do, and how long its state may take to be written to disk.
PATIENCE = 5
SAVED_WITHIN = 60
# A framework build of Python, as on a Mac, runs under a name of its own.
INTERPRETER = rf"(?:{re.escape(str(EMULATOR.python))}|/\S*/Python)"


def start(stack: Stack) -> None:
    """Starts it in the background and waits until its SQS answers."""
    # A crash may have left workers, which would go on with the data of the next one.
    kill(stack)
    refuse_busy_port(stack.port)
    for folder in (stack.state, stack.logs, stack.scratch):
        folder.mkdir(parents=True, exist_ok=True)
    with (stack.logs / "emulator.log").open("w") as log:
        emulator = subprocess.Popen(
            [EMULATOR.python, "-X", f"naive-local={stack.port}:{stack.home}", SCRIPT],
            cwd=stack.scratch,
            env=_environment(stack),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    sqs = stack.client("sqs", **IMPATIENT)
    deadline = time.monotonic() + READY_WITHIN
    while True:
        try:
            sqs.list_queues()
            return
        except (BotoCoreError, ClientError) as fault:
            if emulator.poll() is not None or time.monotonic() > deadline:
                place = os.path.relpath(stack.logs / "emulator.log")
                raise LocalError(f"The emulator did not start: its last words are in {place}.") from fault
        time.sleep(0.1)


def port(stack: Stack) -> int | None:
    """The port of this stack's emulator, or None when it is not running."""
    for process in processes.running():
        if match := _emulator_pattern(stack).fullmatch(process.command):
            return int(match[1])
    return None


def running(stack: Stack) -> bool:
    """Whether there is anything to stop."""
    return bool(_emulators(stack) + workers(stack))


def stop(stack: Stack) -> None:
    """Ends it with its state saved, and whatever is left of it."""
    for process in _emulators(stack):
        processes.send(process, signal.SIGTERM)
    processes.wait_gone(lambda: _emulators(stack), PATIENCE)
    # It may wait for its workers yet, of which one may be busy and another just being born.
    deadline = time.monotonic() + SAVED_WITHIN
    while _emulators(stack) and time.monotonic() < deadline:
        for process in workers(stack):
            processes.send(process, signal.SIGKILL)
        time.sleep(0.1)
    kill(stack)


def kill(stack: Stack) -> None:
    """Ends it at once with all its workers; what happened since its start is not saved."""
    for process in _emulators(stack):
        processes.send(process, signal.SIGKILL)
    # Workers end by themselves when the emulator has gone; those that are busy, or were just being born, do not.
    processes.wait_gone(lambda: workers(stack), 1)
    deadline = time.monotonic() + 20
    while left := _emulators(stack) + workers(stack):
        if time.monotonic() > deadline:
            pids = ", ".join(str(process.pid) for process in left)
            raise LocalError(f"Processes of the local stack do not end, not even when killed: {pids}.")
        for process in left:
            processes.send(process, signal.SIGKILL)
        time.sleep(0.05)
    shutil.rmtree(stack.scratch, ignore_errors=True)


def workers(stack: Stack) -> list[Process]:
    """The processes that run this stack's functions."""
    pattern = re.compile(rf"{INTERPRETER} {re.escape(str(stack.scratch))}/ministack-lambda-.*/_worker\.py")
    return [process for process in processes.running() if pattern.fullmatch(process.command)]


def _environment(stack: Stack) -> dict[str, str]:
    """All that the emulator and the functions it runs see: nothing of the caller's environment."""
    return ROOT_KEY | {
        "PATH": os.defpath,
        "HOME": str(stack.scratch),
        "TMPDIR": str(stack.scratch),
        "LANG": "C.UTF-8",
        "BIND_HOST": HOST,
        "GATEWAY_PORT": str(stack.port),
        "AUTH": "true",
        "PERSIST_STATE": "1",
        "STATE_DIR": str(stack.state),
        "S3_PERSIST": "1",
        "S3_DATA_DIR": str(stack.state / "s3"),
        # Each waiting receive holds a thread, and each function that runs beside others a worker process.
        "MINISTACK_WORKER_THREADS": "256",
        "LAMBDA_EXECUTOR": "local",
        "LAMBDA_WARM_TTL_SECONDS": "300",
        # Listeners that nobody here needs, and a docker daemon that is not its business.
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "DOCKER_HOST": f"unix://{stack.scratch}/no-docker",
    }


def _emulators(stack: Stack) -> list[Process]:
    return [process for process in processes.running() if _emulator_pattern(stack).fullmatch(process.command)]


def _emulator_pattern(stack: Stack) -> re.Pattern[str]:
    return re.compile(rf"{INTERPRETER} -X naive-local=(\d+):{re.escape(str(stack.home))} {re.escape(str(SCRIPT))}")
