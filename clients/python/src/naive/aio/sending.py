"""Sending many messages: request after request, in order, and no faster than they are accepted."""

from __future__ import annotations

import random
from collections.abc import AsyncIterable, Callable, Iterable

from naive.aio.connection import AsyncConnection
from naive.aio.either import each, tell
from naive.batches import Packing, Parcel
from naive.calls.ids import QueueRef
from naive.errors import NaiveError
from naive.models import NewMessage, SendResult, SentBatch

OnResult = Callable[[NewMessage, SendResult], object]


class AsyncSending:
    """One batch on its way to a queue."""

    def __init__(self, connection: AsyncConnection, mount: str, queue: QueueRef, on_result: OnResult | None) -> None:
        self._connection = connection
        self._packing = Packing(mount, queue)
        self._on_result = on_result
        self._results: list[SendResult] = []
        self._sent = 0
        self._failed = 0

    async def send(self, messages: Iterable[NewMessage] | AsyncIterable[NewMessage]) -> SentBatch:
        """Send them all."""
        async for message in each(messages):
            full = self._packing.add(message)
            if full is not None:
                await self._deliver(full)
        await self._deliver(self._packing.rest())
        return SentBatch(results=self._results, sent=self._sent, failed=self._failed)

    async def _deliver(self, parcel: Parcel) -> None:
        try:
            await self._exhaust(parcel)
        except NaiveError as failure:
            failure.details["settled"] = self._sent + self._failed + parcel.abandon(failure)
            await self._report(parcel)
            raise
        await self._report(parcel)

    async def _exhaust(self, parcel: Parcel) -> None:
        """Send it until nothing of it is worth another try."""
        while (call := parcel.next_call()) is not None:
            try:
                parcel.answered(await self._connection.run(call))
            except NaiveError as failure:
                if not parcel.failed(failure):
                    raise
            if pause := parcel.pause(random.random()):
                await self._connection.sleep(pause)

    async def _report(self, parcel: Parcel) -> None:
        for message, result in parcel.outcome():
            await self._tell(message, result)

    async def _tell(self, message: NewMessage, result: SendResult) -> None:
        if result.error is None:
            self._sent += 1
        else:
            self._failed += 1
        if self._on_result is None:
            self._results.append(result)
        else:
            await tell(self._on_result, message, result)
