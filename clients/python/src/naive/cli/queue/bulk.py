"""Sending a file: each line is a message, sent in batches, and only what failed for the moment is sent again."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count

import typer

from naive.calls.call import encode
from naive.cli import output
from naive.cli.dialect import translated
from naive.cli.progress import progress
from naive.cli.queue.lines import Line, open_file, read_lines, size_of
from naive.cli.session import whole_queue
from naive.cli.words import counted, say
from naive.client import UserClient
from naive.constants import MAX_ATTEMPTS, MAX_BATCH_BYTES, MAX_BATCH_MESSAGES
from naive.errors import BadRequestError, NaiveError, PayloadTooLargeError, UnexpectedAnswerError
from naive.models import EntryError, NewMessage, Queue, SendResult
from naive.retries import backoff, entry_may_repeat, surely_not_accepted

# What became of each line, by its number; a line that is not in it was not sent yet.
Results = dict[int, SendResult]

# What a request holds within its frame, and what a message takes beside itself: a comma and perhaps a dedup id.
_ROOM = MAX_BATCH_BYTES - len(b'{"messages":[]}')
_ENTRY_BYTES = 64

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
    """Sends lines to one queue and counts what became of them."""

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

    def send_all(self, lines: Iterable[Line], advance: Callable[[int, str], None]) -> None:
        """Send batch after batch; on a fifo queue no line goes after one that failed for the moment only."""
        for batch in self._batches(lines):
            settled = self._send(batch)
            advance(sum(line.size for line in batch), f"Sent {self.sent:,}")
            if not settled and self._queue.type == "fifo":
                say(f"Stopped after line {batch[-1].number}: later lines would overtake those that failed.")
                return

    def _batches(self, lines: Iterable[Line]) -> Iterator[list[Line]]:
        batch: list[Line] = []
        room = _ROOM
        for line in lines:
            needed = self._bytes(line)
            if batch and (len(batch) == MAX_BATCH_MESSAGES or needed > room):
                yield batch
                batch, room = [], _ROOM
            batch.append(line)
            room -= needed
        if batch:
            yield batch

    def _send(self, batch: Sequence[Line]) -> bool:
        """Send one batch and tell what became of it; the answer is whether every line is settled, well or badly."""
        results: Results = {line.number: SendResult(error=line.fault) for line in batch if line.fault}
        try:
            self._deliver(batch, results)
        except NaiveError as failure:
            self._stop(batch, results, failure)
            raise
        _name_failed(results)
        self._count(results)
        return not _unsettled(batch, results)

    def _deliver(self, batch: Sequence[Line], results: Results) -> None:
        """Fill in the results of a batch, sending again what failed only for the moment."""
        for attempt in count(1):
            if unsent := _unsettled(batch, results):
                results.update(zip((line.number for line in unsent), self._request(unsent), strict=True))
            if attempt == MAX_ATTEMPTS or not _unsettled(batch, results):
                return
            time.sleep(backoff(attempt, random.random()))

    def _stop(self, batch: Sequence[Line], results: Results, failure: NaiveError) -> None:
        """Tell how far things came when a whole request failed: its lines share one reason, so they are one range."""
        unsent = _unsettled(batch, results)
        for line in unsent:
            results.pop(line.number, None)
        _name_failed(results)
        doubt = "were not" if surely_not_accepted(failure) else "may have been"
        say(f"Stopped at lines {unsent[0].number} to {unsent[-1].number}, which {doubt} sent.")
        shared = SendResult(error=EntryError(code=failure.code, message=failure.message))
        self._count({**results, **{line.number: shared for line in unsent}})

    def _request(self, lines: Sequence[Line]) -> list[SendResult]:
        if len(lines) == 1 and self._bytes(lines[0]) > _ROOM:
            return [self._send_alone(lines[0])]
        results = self._client.queue.send_batch(self._queue, [self._message(line) for line in lines]).results
        if len(results) != len(lines):
            raise UnexpectedAnswerError(f"The server answered {len(results)} results for {len(lines)} messages.")
        return results

    def _send_alone(self, line: Line) -> SendResult:
        """Send a line that is a fair message, but escaped as JSON does not fit into a batch."""
        try:
            sent = self._client.queue.send(self._queue, line.body, group_id=self._group, delay_seconds=self._delay)
        except (BadRequestError, PayloadTooLargeError) as refusal:
            return SendResult(error=EntryError(code=refusal.code, message=refusal.message))
        return SendResult(message_id=sent.message_id, sequence_number=sent.sequence_number)

    def _message(self, line: Line) -> NewMessage:
        return NewMessage(body=line.body, group_id=self._group, delay_seconds=self._delay)

    def _bytes(self, line: Line) -> int:
        return len(encode(self._message(line))) + _ENTRY_BYTES

    def _count(self, results: Results) -> None:
        """Count a batch, and print its results in the API's own shape for a program."""
        failed = sum(result.error is not None for result in results.values())
        self.failed += failed
        self.sent += len(results) - failed
        for result in results.values():
            if result.message_id and self._queue.type == "fifo":
                self._look_for_duplicate(result.message_id)
        if self._as_json:
            shown = [results[number].model_dump(mode="json", exclude_none=True) for number in sorted(results)]
            output.emit(json.dumps({"results": shown}, ensure_ascii=False).encode())

    def _look_for_duplicate(self, message_id: str) -> None:
        self.duplicates += message_id in self._ids
        self._ids[message_id] = None
        if len(self._ids) > _REMEMBERED:
            del self._ids[next(iter(self._ids))]


def _unsettled(batch: Sequence[Line], results: Results) -> list[Line]:
    """The lines without a result, or with one that another try may change."""
    return [line for line in batch if line.number not in results or _failed_for_now(results[line.number])]


def _failed_for_now(result: SendResult) -> bool:
    return result.error is not None and entry_may_repeat(result.error.code)


def _name_failed(results: Results) -> None:
    for number, result in sorted(results.items()):
        if result.error is not None:
            say(f"Line {number}: {translated(result.error.message)} ({result.error.code})")
