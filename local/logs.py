"""The functions' logs, followed as they are written."""

import time
from collections.abc import Iterator
from typing import Any

from local.stack import Stack

GROUP = "/naive/local/functions"
# Lambda's own lines around each call; what a function says is between them.
FRAME = ("START RequestId:", "END RequestId:", "REPORT RequestId:")


def follow(stack: Stack, since: float) -> None:
    """Prints what the functions logged from `since` (a Unix time) on, until interrupted."""
    logs = stack.client("logs")
    start, shown = int(since * 1000), set[tuple[object, ...]]()
    while True:
        for event in _events(logs, start):
            identity = (event["logStreamName"], event["timestamp"], event["message"])
            if identity not in shown:
                print(event["message"], flush=True)
            if event["timestamp"] > start:
                start, shown = event["timestamp"], set()
            shown.add(identity)
        time.sleep(1)


def _events(logs: Any, start: int) -> Iterator[Any]:
    try:
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=GROUP, startTime=start)
        yield from (event for page in pages for event in page["events"] if not event["message"].startswith(FRAME))
    except logs.exceptions.ResourceNotFoundException:
        return
