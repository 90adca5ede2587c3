"""What becomes of the messages, as it happens: a line of JSON each for a program, counters for a person."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from types import TracebackType
from typing import TYPE_CHECKING

from naive.cli import output
from naive.cli.words import say
from naive.consumer.delivery import Delivery
from naive.consumer.events import Event
from naive.consumer.stop import Stop
from naive.errors import NaiveError

if TYPE_CHECKING:
    from naive.cli.queue.work.screen import Screen

log = logging.getLogger("naive")

_ENDS = ("done", "given_back", "lost")


class Report:
    """Tells what a worker does, and stops it when nobody can be told any more."""

    def __init__(self, queue: str, code: str, as_json: bool) -> None:
        self.stop = Stop()
        self.output = _stderr()
        """Where commands write to: stdout is for what this tells."""
        self.counts = {"running": 0, "done": 0, "failed": 0, "given back": 0, "lost": 0}
        self._code = code
        self._codes: dict[str, int] = {}  # how the work ended, by receipt handle, until its message does
        self._started: set[str] = set()
        self._failed: set[str] = set()
        self._words = _Words()
        self._fault: OSError | None = None
        self._screen: Screen | None = None
        if not output.wants_json(as_json):
            from naive.cli.queue.work.screen import Screen  # here, since programs and help have no use for Rich

            self._screen = Screen(queue, self.counts, self.stop)
            self.output = self._screen.output

    def ended(self, delivery: Delivery, code: int) -> None:
        """Take note of the exit code or status that the work on a message ended with."""
        self._codes[delivery.receipt_handle] = code

    def tell(self, event: Event) -> None:
        """Tell an event, of which only the end of a message is worth a line."""
        if event.message is None:
            return
        handle = event.message.receipt_handle
        if event.kind == "started":
            self._started.add(handle)
        elif event.kind == "failed":
            self._failed.add(handle)
        elif event.kind in _ENDS:
            self._tell_end(event, event.message)
        self.counts["running"] = len(self._started)

    def summary(self) -> str:
        """What has become of all messages."""
        return ", ".join(f"{name} {number:,}" for name, number in self.counts.items() if name != "running") + "."

    def __enter__(self) -> Report:
        log.addHandler(self._words)
        if self._screen:
            self._screen.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._screen:
            self._screen.end()
        log.removeHandler(self._words)
        if self._fault and error is None:
            raise self._fault

    def _tell_end(self, event: Event, delivery: Delivery) -> None:
        handle = delivery.receipt_handle
        code = self._codes.pop(handle, None)
        failed = handle in self._failed or code is not None
        outcome = "failed" if event.kind == "given_back" and failed else event.kind
        self._started.discard(handle)
        self._failed.discard(handle)
        self.counts[outcome.replace("_", " ")] += 1
        if not self._screen:
            line = {
                "message_id": delivery.message_id,
                "outcome": outcome,
                "seconds": None if event.seconds is None else round(event.seconds, 3),
                "receive_count": delivery.receive_count,
                self._code: code,
            }
            self._print(json.dumps(line))

    def _print(self, line: str) -> None:
        """Print a line; when that fails the worker stops, since nobody would know what it does."""
        try:
            if sys.stdout is not None and not self._fault:
                print(line, flush=True)
        except OSError as fault:
            self._fault = fault
            self.stop()


class _Words(logging.Handler):
    """Says what the library logs for people to know, without a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        told = (*(record.args or ()), error)
        hint = next((cause.hint for cause in told if isinstance(cause, NaiveError)), None)
        words = record.getMessage() + (f": {type(error).__name__}: {error}" if error else "")
        say(words.removesuffix(f"\nHint: {hint}"))
        if hint:
            say(f"Hint: {hint}")


def _stderr() -> int:
    """The stream for words, as a file descriptor."""
    return sys.__stderr__.fileno() if sys.__stderr__ is not None else subprocess.DEVNULL
