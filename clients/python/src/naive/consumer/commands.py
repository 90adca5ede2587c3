"""What a loop wants done. Whoever carries a command out hands the same command back with what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from naive.consumer.lease import Lease
from naive.models import ExtendEntry, RetryEntry


@dataclass(frozen=True, eq=False)
class Receive:
    """Make one receive call, and do not repeat it."""

    max: int
    wait: int
    visibility: int
    at: float
    """When it was asked for."""


@dataclass(frozen=True, eq=False)
class Settle:
    """Make one settle call, and do not repeat it."""

    acked: Sequence[Lease]
    given_back: Sequence[Lease]
    extended: Sequence[Lease]
    at: float
    timeout: float
    """After so many seconds without an answer it has failed."""

    @property
    def leases(self) -> list[Lease]:
        return [*self.acked, *self.given_back, *self.extended]

    def ack(self) -> list[str]:
        return [lease.handle for lease in self.acked]

    def retry(self) -> list[RetryEntry]:
        return [RetryEntry(receipt_handle=lease.handle, delay_seconds=lease.delay) for lease in self.given_back]

    def extend(self) -> list[ExtendEntry]:
        return [
            ExtendEntry(receipt_handle=lease.handle, visibility=lease.extension(self.at)) for lease in self.extended
        ]


@dataclass(frozen=True, eq=False)
class Start:
    """Run the handler on this lease's message."""

    lease: Lease


@dataclass(frozen=True, eq=False)
class Protect:
    """Have the task protected from being scaled in for so many minutes; None ends the protection."""

    minutes: int | None


Command = Receive | Settle | Start | Protect
