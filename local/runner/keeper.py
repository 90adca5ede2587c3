"""Starts the runner, and ends what it has left when it is over, however that came: nothing of it outlives this.

All that the runner starts is in the session of this process, whatever groups it makes. And the runner ends when this
one has gone.
"""

import os
import signal
import subprocess
import sys
from types import FrameType

from local import processes
from local.processes import Process
from local.runner import docker
from local.runner.tasks import GRACE_SECONDS


def keep(command: list[str]) -> int:
    """Runs the runner and answers its exit code, when all that it has started is over."""
    # In a group of its own, so that no signal to a group ends both.
    runner = subprocess.Popen(command, process_group=0)

    def stop(_number: int, _frame: FrameType | None) -> None:
        runner.terminate()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    code = runner.wait()
    # Found now, since what is in a session of its own cannot be once its parent has ended.
    left = processes.with_descendants(_in_session)
    for process in left:
        if _in_session(process):
            processes.send(process, signal.SIGTERM)
    processes.wait_gone(lambda: [process for process in processes.running() if process in left], GRACE_SECONDS)
    for process in [*left, *processes.with_descendants(_in_session)]:
        processes.send(process, signal.SIGKILL)
    return code


def _in_session(process: Process) -> bool:
    return process.session == os.getsid(0) and process.pid != os.getpid()


def main(home: str, port: str) -> int:
    code = keep([sys.executable, "-m", "local.runner", home, port])
    if code:
        docker.remove_all(home)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
