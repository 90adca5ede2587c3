"""The runner: looks after services and queues until it is told to stop, or its keeper has gone."""

import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

from local.runner import alarms
from local.runner.agent import Agent
from local.runner.control import READY
from local.runner.fleet import Fleet
from local.runner.output import Output
from local.stack import Stack

PAUSE_SECONDS = 0.25
"""How long a change of what ECS wants may go unseen."""


def main(home: str, port: str) -> None:
    stack, keeper, stopping = Stack(Path(home), int(port)), os.getppid(), threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    output = Output(stack)
    agent = Agent(stack)
    fleet = Fleet(stack, agent, output)
    alarms.start_watching(stack)
    print(READY, flush=True)
    while not stopping.wait(PAUSE_SECONDS) and os.getppid() == keeper:
        fleet.tend()
    fleet.end()
    agent.close()
    output.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
