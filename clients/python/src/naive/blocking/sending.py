# Generated from naive/aio/sending.py by `make blocking`: a change belongs there.
"""Sending many messages: request after request, in order, and no faster than they are accepted."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from naive.batches import Packing, Parcel
from naive.blocking.connection import Connection
from naive.calls.ids import QueueRef
from naive.errors import NaiveError
from naive.models import NewMessage, SendResult, SentBatch

OnResult = Callable[[NewMessage, SendResult], object]


class Sending:
    """One batch on its way to a queue."""

    def __init__(self, connection: Connection, mount: str, queue: QueueRef, on_result: OnResult | None) -> None:
        self._connection = connection
        self._packing = Packing(mount, queue)
        self._on_result = on_result
        self._results: list[SendResult] = []
        self._sent = 0
        self._failed = 0

    def send(self, messages: Iterable[NewMessage]) -> SentBatch:
        """Send them all."""
        for message in messages:
            full = self._packing.add(message)
            if full is not None:
                self._deliver(full)
        self._deliver(self._packing.rest())
        return SentBatch(results=self._results, sent=self._sent, failed=self._failed)

    def _deliver(self, parcel: Parcel) -> None:
        try:
            self._exhaust(parcel)
        except NaiveError as failure:
            failure.details["settled"] = self._sent + self._failed + parcel.abandon(failure)
            self._report(parcel)
            raise
        self._report(parcel)

    def _exhaust(self, parcel: Parcel) -> None:
        """Send it until nothing of it is worth another try."""
        while (call := parcel.next_call()) is not None:
            try:
                parcel.answered(self._connection.run(call))
            except NaiveError as failure:
                if not parcel.failed(failure):
                    raise
            if pause := parcel.pause(random.random()):
                self._connection.sleep(pause)

    def _report(self, parcel: Parcel) -> None:
        for message, result in parcel.outcome():
            self._tell(message, result)

    def _tell(self, message: NewMessage, result: SendResult) -> None:
        if result.error is None:
            self._sent += 1
        else:
            self._failed += 1
        if self._on_result is None:
            self._results.append(result)
        else:
            self._on_result(message, result)
