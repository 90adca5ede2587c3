"""The calls of one consumer: each is made once, since its loop decides what is repeated and when."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from naive.aio.connection import AsyncConnection
from naive.calls.queues import receive_messages, settle_messages
from naive.consumer.commands import Receive, Settle
from naive.errors import NaiveError
from naive.models import Message, RetryEntry, Settled

log = logging.getLogger("naive")


class AsyncCalls:
    """What a loop asks of its queue."""

    def __init__(self, connection: AsyncConnection, mount: str, queue_id: str) -> None:
        self._connection = connection
        self._mount = mount
        self._queue_id = queue_id

    async def receive(self, call: Receive) -> Sequence[Message]:
        """The messages of one receive."""
        asked = receive_messages(self._mount, self._queue_id, call.max, call.wait, call.visibility)
        received = await self._connection.once(asked)
        return received.messages

    async def settle(self, call: Settle) -> Settled:
        """What became of each lease."""
        asked = settle_messages(self._mount, self._queue_id, call.ack(), call.retry(), call.extend())
        return await self._connection.once(asked, call.timeout)

    async def give_back(self, messages: Sequence[Message]) -> None:
        """Give back what came when the loop was over; what fails comes back when its lease ends."""
        entries = [RetryEntry(receipt_handle=message.receipt_handle) for message in messages]
        try:
            if entries:
                await self._connection.once(settle_messages(self._mount, self._queue_id, None, entries, None))
        except NaiveError as failure:
            log.warning("Messages that came late could not be given back: %s", failure)
