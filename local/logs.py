"""The functions' logs, followed as they are written."""

import re
import time
from collections.abc import Iterator
from typing import Any

from local.stack import Stack

GROUP = "/naive/local/functions"
# Lambda's own lines around each call; what a function says is between them.
FRAME = ("START RequestId:", "END RequestId:", "REPORT RequestId:")
# A function that cannot even be loaded logs nothing: the emulator does, after the time.
NOT_LOADED = re.compile(r"^\S+ \S+ ERROR \[lambda\] (.*)", re.M)


def follow(stack: Stack, since: float) -> None:
    """Prints what the functions logged from `since` (a Unix time) on, until interrupted."""
    logs = stack.client("logs")
    start, shown = int(since * 1000), set[tuple[object, ...]]()
    told = set[str]()
    while True:
        for line in _not_loaded(stack):
            if line not in told:
                print(line, flush=True)
            told.add(line)
        for event in _events(logs, start):
            identity = (event["logStreamName"], event["timestamp"], event["message"])
            if identity not in shown:
                print(event["message"], flush=True)
            if event["timestamp"] > start:
                start, shown = event["timestamp"], set()
            shown.add(identity)
        time.sleep(1)


def last_errors(stack: Stack, since: float) -> list[str]:
    """The last error that the emulator has of a function, and the last that a function has logged."""
    logged = [event["message"].strip() for event in _events(stack.client("logs"), int(since * 1000))]
    errors = [message for message in logged if "ERROR" in message or "Traceback" in message]
    return [*_not_loaded(stack)[-1:], *errors[-1:]]


def _not_loaded(stack: Stack) -> list[str]:
    return NOT_LOADED.findall((stack.logs / "emulator.log").read_text(errors="replace"))


def _events(logs: Any, start: int) -> Iterator[Any]:
    try:
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=GROUP, startTime=start)
        yield from (event for page in pages for event in page["events"] if not event["message"].startswith(FRAME))
    except logs.exceptions.ResourceNotFoundException:
        return
