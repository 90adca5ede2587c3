"""What tasks write, line by line to CloudWatch Logs, where `GET /v1/compute/{id}/logs` reads it."""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import IO, Any

from botocore.exceptions import BotoCoreError, ClientError

from local.stack import IMPATIENT, Stack

_PAUSE_SECONDS = 0.5
_LONGEST = 16 * 1024
"""Docker cuts lines there."""
_AT_ONCE = 50
"""Lines a call: 800 KiB at most, of the 1 MiB that CloudWatch takes."""
_KEPT = 10_000
"""Lines of a task that are kept until they are written; of more, the oldest are lost."""


class _Stream:
    """The lines of one task that are not yet written."""

    def __init__(self, group: str, name: str) -> None:
        self.place = {"logGroupName": group, "logStreamName": name}
        self.lines = deque[dict[str, Any]](maxlen=_KEPT)
        self.made = False
        self.reader: threading.Thread | None = None

    @property
    def over(self) -> bool:
        return not self.lines and not (self.reader and self.reader.is_alive())

    def add(self, text: str) -> None:
        if text:  # CloudWatch takes no empty ones.
            self.lines.append({"timestamp": round(time.time() * 1000), "message": text})


class Output:
    """Writes what tasks say, a few lines at a time, from a thread of its own."""

    def __init__(self, stack: Stack) -> None:
        self._logs = stack.client("logs", **IMPATIENT)
        self._streams: list[_Stream] = []
        self._closing = threading.Event()
        self._writer = threading.Thread(target=self._write_on, daemon=True)
        self._writer.start()

    def follow(self, group: str, name: str, pipe: IO[bytes]) -> None:
        """Write what comes out of a pipe until its end."""
        stream = _Stream(group, name)
        stream.reader = threading.Thread(target=_read, args=(pipe, stream), daemon=True)
        stream.reader.start()
        self._streams.append(stream)

    def say(self, group: str, name: str, text: str) -> None:
        """Write a line of the runner's own."""
        stream = _Stream(group, name)
        stream.add(text)
        self._streams.append(stream)

    def close(self) -> None:
        """Write what there is, when all tasks have ended."""
        self._closing.set()
        self._writer.join()

    def _write_on(self) -> None:
        while not self._closing.wait(_PAUSE_SECONDS):
            self._write()
        for stream in self._streams:
            if stream.reader:
                stream.reader.join(1)
        self._write()

    def _write(self) -> None:
        for stream in list(self._streams):
            with suppress(BotoCoreError):  # The emulator does not answer: they are tried again.
                self._write_stream(stream)
            if stream.over:
                self._streams.remove(stream)

    def _write_stream(self, stream: _Stream) -> None:
        while some := list(islice(stream.lines, _AT_ONCE)):
            try:
                if not stream.made:
                    self._make(stream)
                self._logs.put_log_events(**stream.place, logEvents=some)
            except ClientError as fault:
                print(f"{stream.place['logStreamName']}: {len(some)} lines are lost: {fault}", flush=True)
            for line in some:
                # Meanwhile more lines than are kept may have come.
                if stream.lines and stream.lines[0] is line:
                    stream.lines.popleft()

    def _make(self, stream: _Stream) -> None:
        with suppress(self._logs.exceptions.ResourceAlreadyExistsException):
            self._logs.create_log_stream(**stream.place)
        stream.made = True


def _read(pipe: IO[bytes], stream: _Stream) -> None:
    with pipe:
        for line in _lines(pipe):
            stream.add(line.decode(errors="replace").rstrip("\r\n"))


def _lines(pipe: IO[bytes]) -> Iterator[bytes]:
    return iter(partial(pipe.readline, _LONGEST), b"")
