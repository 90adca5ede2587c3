"""Sending a file: each line is a message."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

import typer

from naive.blocking.client import UserClient
from naive.cli import output
from naive.cli.dialect import translated
from naive.cli.progress import progress
from naive.cli.queue.lines import Line, open_file, read_lines, size_of
from naive.cli.session import whole_queue
from naive.cli.words import counted, say
from naive.errors import NaiveError
from naive.models import NewMessage, Queue, SendResult
from naive.retries import entry_may_repeat, surely_not_accepted

# A queue recognises a duplicate for five minutes, in which no more than these are sent.
_REMEMBERED = 300_000


def send_file(client: UserClient, typed: str, file: str, group: str | None, delay: int | None, as_json: bool) -> None:
    """Send every line of a file, `-` for stdin; the exit code is 1 if any could not be sent."""
    with open_file(file) as stream:
        # A fifo queue has to be known as one: its messages may be sent again safely, but never overtake each other.
        sender = LineSender(client, whole_queue(client, typed), group, delay, output.wants_json(as_json))
        try:
            with progress("Sending", size_of(stream), shown=not as_json) as advance:
                sender.send_all(read_lines(stream), advance)
        finally:
            dropped = f" Duplicates, which are not delivered: {sender.duplicates:,}." if sender.duplicates else ""
            say(f"Sent {counted(sender.sent, 'message')}, {sender.failed:,} failed.{dropped}")
    if sender.failed:
        raise typer.Exit(1)


class LineSender:
    """Sends lines to one queue, counts what became of them and tells it, request by request."""

    def __init__(self, client: UserClient, queue: Queue, group: str | None, delay: int | None, as_json: bool) -> None:
        self.sent = 0
        self.failed = 0
        self.duplicates = 0
        self._ids: dict[str, None] = {}  # of a fifo queue, which answers a duplicate with the id of the first
        self._client = client
        self._queue = queue
        self._group = group
        self._delay = delay
        self._as_json = as_json
        self._waiting: deque[Line] = deque()  # lines that nothing is known of yet
        self._known: list[tuple[Line, SendResult]] = []  # what became of lines, and is not told yet
        self._is_stopped = False
        self._advance: Callable[[int, str], None] = lambda steps, so_far: None

    def send_all(self, lines: Iterable[Line], advance: Callable[[int, str], None]) -> None:
        """Send all lines; on a fifo queue no line goes after one that failed for the moment only."""
        self._advance = advance
        try:
            self._client.queue.send_batch(self._queue, self._messages(lines), on_result=self._take)
        except NaiveError as failure:
            self._stop(failure)
            raise
        self._take_faulty()
        self._tell()

    def _messages(self, lines: Iterable[Line]) -> Iterator[NewMessage]:
        """The messages, which are asked for when what is known is to be told, since a request was answered."""
        for line in lines:
            self._tell()
            if self._is_stopped:
                return
            self._waiting.append(line)
            if not line.fault:
                yield NewMessage(body=line.body, group_id=self._group, delay_seconds=self._delay)
        self._tell()

    def _take(self, message: NewMessage, result: SendResult) -> None:
        """Take note of what became of the next line that was sent."""
        self._take_faulty()
        self._known.append((self._waiting.popleft(), result))

    def _take_faulty(self) -> None:
        """Take note of the lines that could not be sent at all, up to the next that could."""
        while self._waiting and self._waiting[0].fault:
            line = self._waiting.popleft()
            self._known.append((line, SendResult(error=line.fault)))

    def _tell(self) -> None:
        """Tell what became of lines."""
        known, self._known = self._known, []
        _name_failed(known)
        self._count(known)
        self._advance(sum(line.size for line, _ in known), f"Sent {self.sent:,}")
        failed_for_now = any(_failed_for_now(result) for _, result in known)
        if failed_for_now and self._queue.type == "fifo" and not self._is_stopped:
            self._is_stopped = True
            say(f"Stopped after line {known[-1][0].number}: later lines would overtake those that failed.")

    def _stop(self, failure: NaiveError) -> None:
        """Tell how far things came when a whole request failed: its lines share one reason, so they are one range."""
        shared = [line for line, result in self._known if _is_of(failure, result)]
        _name_failed([(line, result) for line, result in self._known if line not in shared])
        doubt = "were not" if surely_not_accepted(failure) else "may have been"
        say(f"Stopped at lines {shared[0].number} to {shared[-1].number}, which {doubt} sent.")
        self._count(self._known)

    def _count(self, known: Sequence[tuple[Line, SendResult]]) -> None:
        """Count results, and print them in the API's own shape for a program."""
        for _, result in known:
            self.sent += result.error is None
            self.failed += result.error is not None
            if result.message_id and self._queue.type == "fifo":
                self._look_for_duplicate(result.message_id)
        if self._as_json and known:
            shown = [result.model_dump(mode="json", exclude_none=True) for _, result in known]
            output.emit(json.dumps({"results": shown}, ensure_ascii=False).encode())

    def _look_for_duplicate(self, message_id: str) -> None:
        self.duplicates += message_id in self._ids
        self._ids[message_id] = None
        if len(self._ids) > _REMEMBERED:
            del self._ids[next(iter(self._ids))]


def _failed_for_now(result: SendResult) -> bool:
    return result.error is not None and entry_may_repeat(result.error.code)


def _is_of(failure: NaiveError, result: SendResult) -> bool:
    return result.error is not None and (result.error.code, result.error.message) == (failure.code, failure.message)


def _name_failed(known: Iterable[tuple[Line, SendResult]]) -> None:
    for line, result in known:
        if result.error is not None:
            say(f"Line {line.number}: {translated(result.error.message)} ({result.error.code})")
