"""A queue in memory that leases: what is neither acked nor extended in time comes back, and fifo keeps order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Condition
from typing import Any

from tests.unit.clients.fake_api import message_json
from tests.unit.clients.fake_queue import OK, FakeQueue

OVER = {"error": {"code": "receipt_expired", "message": "The lease is over."}}


@dataclass
class Stored:
    """A message on the queue."""

    id: str
    group: str | None
    visible_at: float = 0.0
    receives: int = 0
    is_leased: bool = False
    is_acked: bool = False

    def handle(self) -> str:
        return f"{self.id}#{self.receives}"

    def holds(self, handle: str) -> bool:
        """Whether this handle is of the lease that there is."""
        return self.is_leased and not self.is_acked and handle == self.handle() and time.monotonic() < self.visible_at


@dataclass
class LeasingQueue(FakeQueue):
    """What the API promises of a queue, no more."""

    expired: int = 0
    """Leases that ended by themselves."""

    def __post_init__(self) -> None:
        self._stored: list[Stored] = []
        self._changed = Condition()

    def fill(self, ids: Sequence[str], groups: int | None = None) -> None:
        """Put these on it, in turn into so many groups."""
        with self._changed:
            for place, id in enumerate(ids):
                self._stored.append(Stored(id, None if groups is None else f"g{place % groups}"))
            self._changed.notify_all()

    def left(self) -> list[str]:
        return [stored.id for stored in self._stored if not stored.is_acked]

    def in_flight(self) -> list[str]:
        return [stored.id for stored in self._stored if stored.holds(stored.handle())]

    def receives_of(self, id: str) -> int:
        return next(stored.receives for stored in self._stored if stored.id == id)

    def _receive(self, most: int, wait: float, visibility: int) -> list[object]:
        until = time.monotonic() + wait
        with self._changed:
            self.polling += 1
            while not (ready := self._ready_now(most)) and time.monotonic() < until:
                self._changed.wait(min(0.02, max(0.0, until - time.monotonic())))
            self.polling -= 1
            return [self._lease(stored, visibility) for stored in ready]

    def _ready_now(self, most: int) -> list[Stored]:
        now = time.monotonic()
        ready: list[Stored] = []
        blocked: set[str | None] = set()
        for stored in self._stored:
            if stored.is_acked:
                continue
            if stored.visible_at <= now and stored.group not in blocked and len(ready) < most:
                ready.append(stored)
            elif stored.group is not None:
                blocked.add(stored.group)
        return ready

    def _lease(self, stored: Stored, visibility: int) -> object:
        self.expired += stored.is_leased
        stored.receives += 1
        stored.is_leased = True
        stored.visible_at = time.monotonic() + visibility
        return message_json(
            message_id=stored.id,
            body=stored.id,
            receipt_handle=stored.handle(),
            receive_count=stored.receives,
            lease_expires_at=(datetime.now(UTC) + timedelta(seconds=visibility)).isoformat(),
            **({} if stored.group is None else {"group_id": stored.group}),
        )

    def _settle(self, asked: Any) -> object:
        with self._changed:
            answer = {
                "ack": [self._ack(handle) for handle in asked.get("ack", [])],
                "retry": [
                    self._hide(entry["receipt_handle"], entry.get("delay_seconds", 0), leased=False)
                    for entry in asked.get("retry", [])
                ],
                "extend": [
                    self._hide(entry["receipt_handle"], entry["visibility"], leased=True)
                    for entry in asked.get("extend", [])
                ],
            }
            self._changed.notify_all()
        return answer

    def _ack(self, handle: str) -> object:
        stored = self._held(handle)
        if stored is None:
            return OVER
        stored.is_acked = True
        self.acked.append(stored.id)
        return OK

    def _hide(self, handle: str, seconds: int, leased: bool) -> object:
        stored = self._held(handle)
        if stored is None:
            return OVER
        stored.is_leased = leased
        stored.visible_at = time.monotonic() + seconds
        (self.extended.append(stored.id) if leased else self.given_back.append((stored.id, seconds)))
        return OK

    def _held(self, handle: str) -> Stored | None:
        return next((stored for stored in self._stored if stored.holds(handle)), None)


@dataclass
class Journal:
    """What handlers did, seen from outside: never the same message twice at once, and never two of a group."""

    running: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    most: int = 0

    def begin(self, *names: str) -> None:
        self.faults += [f"{name} is worked on twice at once" for name in names if name in self.running]
        self.running.update(names)
        self.most = max(self.most, len(self.running))

    def end(self, *names: str) -> None:
        self.running.difference_update(names)
