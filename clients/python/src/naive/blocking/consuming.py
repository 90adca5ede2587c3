# Generated from naive/aio/consuming.py by `make blocking`: a change belongs there.
"""The calls of one consumer: each is made once, since its loop decides what is repeated and when."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from naive.blocking.connection import Connection
from naive.calls.queues import receive_messages, settle_messages
from naive.consumer.commands import Receive, Settle
from naive.errors import NaiveError
from naive.models import Message, RetryEntry, Settled

log = logging.getLogger("naive")


class Calls:
    """What a loop asks of its queue."""

    def __init__(self, connection: Connection, mount: str, queue_id: str) -> None:
        self._connection = connection
        self._mount = mount
        self._queue_id = queue_id

    def receive(self, call: Receive) -> Sequence[Message]:
        """The messages of one receive."""
        asked = receive_messages(self._mount, self._queue_id, call.max, call.wait, call.visibility)
        received = self._connection.once(asked)
        return received.messages

    def settle(self, call: Settle) -> Settled:
        """What became of each lease."""
        asked = settle_messages(self._mount, self._queue_id, call.ack(), call.retry(), call.extend())
        return self._connection.once(asked, call.timeout)

    def give_back(self, messages: Sequence[Message]) -> None:
        """Give back what came when the loop was over; what fails comes back when its lease ends."""
        entries = [RetryEntry(receipt_handle=message.receipt_handle) for message in messages]
        try:
            if entries:
                self._connection.once(settle_messages(self._mount, self._queue_id, None, entries, None))
        except NaiveError as failure:
            log.warning("Messages that came late could not be given back: %s", failure)
