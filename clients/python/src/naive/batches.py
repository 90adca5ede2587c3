"""Messages packed into requests, and what becomes of each; nothing here sends or waits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from naive.calls.call import Call, encode
from naive.calls.ids import QueueRef
from naive.calls.queues import on_the_wire, send_entry, send_messages
from naive.constants import MAX_ATTEMPTS, MAX_BATCH_BYTES, MAX_BATCH_MESSAGES
from naive.errors import BadRequestError, NaiveError, PayloadTooLargeError, UnexpectedAnswerError
from naive.models import BatchAnswer, EntryError, NewMessage, Queue, SendResult, SentMessage
from naive.retries import backoff, entry_may_repeat

# What a request holds within its frame.
_ROOM = MAX_BATCH_BYTES - len(b'{"messages":[]}')
_COMMA = 1

_OVERTAKING = EntryError(
    code="unavailable", message="Not sent: a message of the same group before it could not be sent."
)


@dataclass(eq=False)
class Entry:
    """One message, and what became of it so far."""

    message: NewMessage
    wire: Mapping[str, Any]
    size: int
    result: SendResult | None = None
    is_settled: bool = False
    """Whether it was accepted, or failed for good."""

    @property
    def group(self) -> str | None:
        return self.wire.get("group_id")

    def settle(self, result: SendResult) -> None:
        """Note what the server said; what failed only for the moment may be sent again."""
        self.result = result
        self.is_settled = not (result.error and entry_may_repeat(result.error.code))

    def hold_back(self) -> None:
        """Leave it unsent for good."""
        self.result = SendResult(error=_OVERTAKING)
        self.is_settled = True


class Packing:
    """Packs the messages for one queue, however many, and remembers no more than one request of them."""

    def __init__(self, mount: str, queue: QueueRef) -> None:
        self._mount = mount
        self._queue = queue
        self._broken: set[str | None] = set()
        self._parcel = self._new()

    def add(self, message: NewMessage) -> Parcel | None:
        """Take another message; the answer is the parcel that has to be sent now, if one is full."""
        wire = on_the_wire(self._queue, message)
        entry = Entry(message, wire, len(encode(wire)) + _COMMA)
        if self._parcel.has_room_for(entry):
            self._parcel.put(entry)
            return None
        full, self._parcel = self._parcel, self._new()
        self._parcel.put(entry)
        return full

    def rest(self) -> Parcel:
        """What is left when there are no more messages."""
        return self._parcel

    def _new(self) -> Parcel:
        return Parcel(self._mount, self._queue, self._broken)


class Parcel:
    """The messages of one request, of which those that failed only for the moment are sent again.

    `broken` are the groups from which a message was given up, and which may therefore not go on.
    """

    def __init__(self, mount: str, queue: QueueRef, broken: set[str | None]) -> None:
        self._mount = mount
        self._queue = queue
        self._broken = broken
        self._entries: list[Entry] = []
        self._size = 0
        self._attempts = 0

    def has_room_for(self, entry: Entry) -> bool:
        """Whether this message fits in too; one that is too large for any parcel is alone in its own."""
        return not self._entries or (len(self._entries) < MAX_BATCH_MESSAGES and self._size + entry.size <= _ROOM)

    def put(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._size += entry.size

    def next_call(self) -> Call[BatchAnswer | SentMessage] | None:
        """The request to make now, or None when nothing is left to be sent."""
        if self._attempts == 0:
            self._hold_back()
        unsent = self._unsent()
        if not unsent or self._attempts == MAX_ATTEMPTS:
            return None
        self._attempts += 1
        if self._is_oversized:
            return send_entry(self._mount, self._queue, unsent[0].wire)
        return send_messages(self._mount, self._queue, [entry.wire for entry in unsent])

    def answered(self, answer: BatchAnswer | SentMessage) -> None:
        """Note what the server said of each message of the request."""
        unsent = self._unsent()
        results = answer.results if isinstance(answer, BatchAnswer) else [_alone(answer)]
        if len(results) != len(unsent):
            raise UnexpectedAnswerError(f"The server answered {len(results)} results for {len(unsent)} messages.")
        for entry, result in zip(unsent, results, strict=True):
            entry.settle(result)
        if self._attempts == MAX_ATTEMPTS and not _is_standard(self._queue):
            self._broken.update(entry.group for entry in self._unsent() if entry.group is not None)

    def failed(self, failure: NaiveError) -> bool:
        """Note that the request failed as a whole; the answer is whether its one message is to blame, and no other."""
        is_its_own = self._is_oversized and isinstance(failure, (BadRequestError, PayloadTooLargeError))
        if is_its_own:
            self._entries[0].settle(_because_of(failure))
        return is_its_own

    def abandon(self, failure: NaiveError) -> int:
        """Send nothing of it any more; the answer is how many messages have their own result before one has not."""
        settled = sum(1 for _ in takewhile(lambda entry: entry.is_settled, self._entries))
        for entry in self._unsent():
            entry.result = _because_of(failure)
        return settled

    def pause(self, spread: float) -> float:
        """Seconds to wait before the next request, where there will be one."""
        return backoff(self._attempts, spread) if self._unsent() and self._attempts < MAX_ATTEMPTS else 0.0

    def outcome(self) -> Iterator[tuple[NewMessage, SendResult]]:
        """What became of each message, in order."""
        for entry in self._entries:
            assert entry.result is not None, "it was not sent yet"
            yield entry.message, entry.result

    @property
    def _is_oversized(self) -> bool:
        """Whether its one message may be a fair one, but as JSON does not fit into a batch."""
        return self._size > _ROOM

    def _hold_back(self) -> None:
        for entry in self._entries:
            if entry.group in self._broken:
                entry.hold_back()

    def _unsent(self) -> list[Entry]:
        return [entry for entry in self._entries if not entry.is_settled]


def _alone(answer: SentMessage) -> SendResult:
    return SendResult(message_id=answer.message_id, sequence_number=answer.sequence_number)


def _because_of(failure: NaiveError) -> SendResult:
    return SendResult(error=EntryError(code=failure.code, message=failure.message))


def _is_standard(queue: QueueRef) -> bool:
    return isinstance(queue, Queue) and queue.type == "standard"
