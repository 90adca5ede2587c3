"""Which leases go into a settle call, and when: few calls, none too late, and patience with a server that fails."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

from naive.constants import (
    LEAST_TIMEOUT_SECONDS,
    LINGER_SECONDS,
    LONGEST_PAUSE_SECONDS,
    MAX_SETTLE_ENTRIES,
    SETTLE_CALLS,
    TIMEOUT_SECONDS,
)
from naive.consumer.commands import Settle
from naive.consumer.lease import Fate, Lease
from naive.retries import backoff

# A call, or a pause, gets this part of the time that the shortest lease has left: there is time for more after it.
_PART = 3

_ORDER = (Fate.ACK, Fate.GIVE_BACK, Fate.KEEP)


class Settling:
    """The calls that ack, give back and extend."""

    def __init__(self, chance: Callable[[], float]) -> None:
        self.failures = 0
        self._under_way: list[Settle] = []
        self._not_before = -math.inf
        self._chance = chance

    def next_call(self, leases: Collection[Lease], alone: bool, now: float) -> Settle | None:
        """The call to make now, if any; `alone` says that nothing that is still running could join it soon."""
        if self.next_at(leases, alone) > now:
            return None
        joining = sorted(
            (lease for lease in leases if not lease.in_call and lease.may_join(now)), key=lambda lease: lease.end
        )
        chosen = sorted(joining[:MAX_SETTLE_ENTRIES], key=lambda lease: lease.number)
        acked, given_back, extended = ([lease for lease in chosen if lease.fate is fate] for fate in _ORDER)
        call = Settle(acked, given_back, extended, now, _timeout(leases, now))
        self._under_way.append(call)
        for lease in chosen:
            lease.in_call = True
        return call

    def next_at(self, leases: Collection[Lease], alone: bool) -> float:
        """When the next call is due."""
        if len(self._under_way) >= (1 if self.failures else SETTLE_CALLS):
            return math.inf
        linger = 0.0 if alone else LINGER_SECONDS
        due = min((lease.due(linger) for lease in leases if not lease.in_call), default=math.inf)
        return max(due, self._not_before)

    def answered(self, call: Settle) -> None:
        """The server took the call, whatever it said of each lease in it."""
        self._end(call)
        self.failures = 0
        self._not_before = -math.inf

    def failed(self, call: Settle, asked: float, leases: Collection[Lease], now: float) -> None:
        """The call failed as a whole, and the server asked for so many seconds of patience."""
        self._end(call)
        self.failures += 1
        pause = min(asked, LONGEST_PAUSE_SECONDS) + backoff(self.failures, self._chance())
        self._not_before = now + _in_time(pause, asked, leases, now)

    def refused(self, lease: Lease, now: float) -> None:
        """The server could not do this one at the moment."""
        lease.attempts += 1
        pause = backoff(lease.attempts, self._chance())
        lease.not_before = now + _in_time(pause, 0.0, [lease], now)

    def _end(self, call: Settle) -> None:
        self._under_way.remove(call)
        for lease in call.leases:
            lease.in_call = False


def _timeout(leases: Collection[Lease], now: float) -> float:
    """How long a call may take: none that waits for its place, or has to be made again, comes too late."""
    return max(LEAST_TIMEOUT_SECONDS, min(TIMEOUT_SECONDS, _left(leases, now) / _PART))


def _in_time(pause: float, asked: float, leases: Collection[Lease], now: float) -> float:
    """The pause, shortened where a lease would end meanwhile; what the server asked for gives way last."""
    left = _left(leases, now)
    return max(min(pause, left / _PART), min(asked, left / 2), 0.0)


def _left(leases: Collection[Lease], now: float) -> float:
    """How long it is until the first of those that are kept is lost."""
    return min((lease.lost_at - now for lease in leases if lease.fate is Fate.KEEP), default=math.inf)
