"""A command for each message: its input and environment, its process group and its end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from threading import Lock
from types import TracebackType

from naive.cli.queue.work.report import Report
from naive.constants import KILL_SECONDS, MAX_ENVIRONMENT_BYTES, QUEUE_VARIABLE
from naive.consumer.delivery import Delivery, Retry
from naive.models import Queue

# How often a command that runs is looked at, to see whether its message was lost.
_LOOK_SECONDS = 0.2

_OURS = re.compile(
    r"NAIVE_(MESSAGE_ID|(MAX_)?RECEIVE_COUNT|SENT_AT|GROUP_ID|DEDUP_ID|ATTRIBUTES(_OMITTED)?|ATTRIBUTE_.+)"
)


class Commands:
    """Runs a command for each message, and ends those that are running when it is left."""

    def __init__(self, command: str, queue: Queue, report: Report) -> None:
        self._command = command
        self._queue = queue
        self._report = report
        self._lock = Lock()
        self._running = 0
        self._is_closing = False

    def __call__(self, delivery: Delivery) -> None:
        """Run it for this message; any exit code but 0 gives the message back."""
        with self._lock:
            if self._is_closing:
                raise Retry
            self._running += 1
        try:
            code = self._run(delivery)
        finally:
            with self._lock:
                self._running -= 1
        if not delivery.lost:  # or it was ended, and its exit code is not its own
            self._report.ended(delivery, code)
        if code != 0:
            raise Retry

    def __enter__(self) -> Commands:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._is_closing = True
        until = time.monotonic() + KILL_SECONDS + 2 * _LOOK_SECONDS
        while self._running and time.monotonic() < until:
            time.sleep(_LOOK_SECONDS / 10)

    def _run(self, delivery: Delivery) -> int:
        process = subprocess.Popen(
            ["sh", "-c", self._command],
            stdin=subprocess.PIPE,
            stdout=self._report.output,
            stderr=self._report.output,
            env=dict(environment(delivery, self._queue)),
            start_new_session=True,  # Ctrl-C on the terminal is for the worker, which lets the command finish
        )
        code = self._wait(process, delivery)
        return code if code >= 0 else 128 - code  # as a shell says it

    def _wait(self, process: subprocess.Popen[bytes], delivery: Delivery) -> int:
        """Feed it the body and wait for its end, or end it when the message is no longer ours."""
        body: bytes | None = delivery.body.encode()
        while True:
            try:
                process.communicate(body, timeout=_LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                body = None  # which is being written, and may not be given again
                if delivery.lost or self._is_closing:
                    _end(process)
            else:
                return process.returncode


def environment(delivery: Delivery, queue: Queue) -> Iterator[tuple[str, str]]:
    """What a command finds in its environment: ours, without what a worker around this one may have put there."""
    yield from ((name, value) for name, value in os.environ.items() if not _OURS.fullmatch(name))
    yield QUEUE_VARIABLE, queue.id
    yield "NAIVE_MESSAGE_ID", delivery.message_id
    yield "NAIVE_RECEIVE_COUNT", str(delivery.receive_count)
    yield "NAIVE_SENT_AT", delivery.sent_at.isoformat().replace("+00:00", "Z")
    if queue.max_receive_count is not None:
        yield "NAIVE_MAX_RECEIVE_COUNT", str(queue.max_receive_count)
    if delivery.group_id is not None:
        yield "NAIVE_GROUP_ID", delivery.group_id
    if delivery.dedup_id is not None:
        yield "NAIVE_DEDUP_ID", delivery.dedup_id
    if delivery.attributes:
        yield from _attributes(delivery.attributes)


def _attributes(attributes: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Each by its name, in which only letters and digits are kept, and all together; a system takes only so much."""
    everything = json.dumps(attributes, ensure_ascii=False)
    if len(everything.encode()) > MAX_ENVIRONMENT_BYTES:
        yield "NAIVE_ATTRIBUTES_OMITTED", "true"
        return
    yield "NAIVE_ATTRIBUTES", everything
    for name, value in attributes.items():
        yield f"NAIVE_ATTRIBUTE_{re.sub(r'[^A-Z0-9]', '_', name.upper())}", value


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it has started: SIGTERM first, SIGKILL for what is left after a grace."""
    until = time.monotonic() + KILL_SECONDS
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        while time.monotonic() < until:
            process.poll()
            os.killpg(process.pid, 0)  # fails when nobody of the group is left
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
