"""One leased message: until when it is ours, and what is to become of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, auto

from naive.constants import LOST_MARGIN_SECONDS, MAX_LEASE_SECONDS
from naive.consumer.delivery import Delivery

# An extension is due when half of the lease is over, and goes along with another call a little earlier.
_DUE = 0.5
_WELCOME = 0.6


class Fate(Enum):
    """What is to become of a message."""

    KEEP = auto()
    ACK = auto()
    GIVE_BACK = auto()


@dataclass(eq=False)
class Lease:
    """A message that was received and is not settled yet. All times are of one monotonic clock."""

    number: int
    """Its place in the order of arrival."""
    delivery: Delivery
    visibility: int
    end: float
    """When it is over, unless it is extended. No earlier than that: it is counted from before the server did it."""
    last_end: float
    """The end that no extension passes."""
    fate: Fate = Fate.KEEP
    since: float = 0.0
    """Since when its fate is known."""
    delay: int = 0
    """How long it stays hidden when it is given back."""
    started_at: float | None = None
    seconds: float | None = None
    """How long the handler took, once it has ended."""
    in_call: bool = False
    """Whether a call about it is under way: there is never a second one beside it."""
    attempts: int = 0
    not_before: float = 0.0
    """When it may be in a call again, after one that did not take it."""
    in_doubt: bool = False
    """Whether its settling may have worked although the call failed."""

    @classmethod
    def begun(cls, number: int, delivery: Delivery, visibility: int, at: float) -> Lease:
        """The lease of a message that was received at this time."""
        return cls(number, delivery, visibility, at + visibility, at + MAX_LEASE_SECONDS - 1)

    @property
    def handle(self) -> str:
        return self.delivery.receipt_handle

    @property
    def group(self) -> str | None:
        return self.delivery.group_id

    @property
    def is_running(self) -> bool:
        """Whether a handler works on it."""
        return self.started_at is not None and self.seconds is None

    @property
    def is_waiting(self) -> bool:
        """Whether it is to be handled and that has not begun."""
        return self.fate is Fate.KEEP and self.started_at is None

    @property
    def lost_at(self) -> float:
        """When a kept lease that could not be extended counts as lost: before it is, so that nobody works on in it."""
        return self.end - min(LOST_MARGIN_SECONDS, self.visibility / 10)

    def due(self, linger: float) -> float:
        """When it should be in a call; what is settled may wait so long for company."""
        if self.fate is Fate.KEEP:
            return self._extendable(_DUE)
        return max(self.since + linger, self.not_before)

    def may_join(self, now: float) -> bool:
        """Whether it goes along in a call that is made anyway."""
        return now >= (self._extendable(_WELCOME) if self.fate is Fate.KEEP else self.not_before)

    def extension(self, now: float) -> int:
        """The seconds that an extension asks for."""
        return min(self.visibility, math.floor(self.last_end - now))

    def extend(self, at: float) -> None:
        """Count from when the extension was asked for, which was before it was done."""
        self.end = at + self.extension(at)
        self.attempts = 0

    def settle(self, fate: Fate, now: float, delay: int = 0) -> None:
        """Decide what becomes of it."""
        self.fate, self.since, self.delay = fate, now, delay
        self.attempts, self.not_before = 0, now

    def doubt(self, asked_at: float) -> None:
        """A call to settle it failed, and may have worked: given back, it then is anybody's after its delay."""
        self.in_doubt = True
        if self.fate is Fate.GIVE_BACK:
            self.end = min(self.end, asked_at + self.delay)

    def start(self, now: float) -> None:
        self.started_at = now

    def finish(self, now: float) -> None:
        self.seconds = now - (self.started_at or now)

    def _extendable(self, left: float) -> float:
        """When only this part of the lease is left; never, when it cannot get any longer."""
        if self.end > self.last_end - 1:
            return math.inf
        return max(self.end - self.visibility * left, self.not_before)
