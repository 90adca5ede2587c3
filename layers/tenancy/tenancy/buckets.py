"""How many requests a key may make: a bucket of tokens in each environment, squared now and then with a shared one.

Of the shared one only the time is known at which it is full again. Each token taken puts that off by 1 / rate seconds;
once it has passed, the bucket is full, and tokens put it off from when they were taken. So any number of environments
can add to it without reading it first, and one that slept for long has missed nothing.

In between, an environment goes by its own bucket, which others' requests do not empty. So a key may get too much for as
long as nobody tells, and then owes it; it never gets too little. What is told late must not count against what is asked
now: the shared bucket holds twice the burst, the promised one and as much again that may not have been told in time.
"""

import math
from dataclasses import dataclass

TELL_SECONDS = 1
"""An environment tells what was taken no more often."""
PAUSE_SECONDS = 10
"""For so long it does not try again after it could not: a table that hangs holds a request up."""
DEBT_SECONDS = 15
"""What a key got too much is paid back for so long at most, whatever happened and whatever a clock says."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What a key may ask for: so many requests a second, and so many at once."""

    rate: int
    burst: int

    @property
    def lump(self) -> int:
        """So many requests are worth telling."""
        return max(2, self.burst // 100)


@dataclass(frozen=True, slots=True)
class Taken:
    """What one environment took from the shared bucket, by the wall's clock."""

    since: float
    seconds: float
    """For so long it puts off the time at which the bucket is full."""
    latest: float
    """And to no later than this."""

    def put_off(self, full_at: float | None) -> float:
        """When the bucket is full, which would have been full at this time, or has never been touched."""
        start = self.since if full_at is None else max(full_at, self.since)
        return min(start + self.seconds, self.latest)


class Bucket:
    """The tokens of one key in one environment; `now` is always the monotonic clock's."""

    def __init__(self, limit: Limit, now: float) -> None:
        self._limit = limit
        self._level = float(limit.burst)
        self._filled_at = now
        self._quiet_until = now
        self._untold = 0
        self._since = now

    def is_due(self, now: float, *, anyway: bool = False) -> bool:
        """Whether to tell what was taken, and learn what is left: when it is worth it, and before refusing anybody."""
        self._fill(now)
        return now >= self._quiet_until and (anyway or self._untold >= self._limit.lump or self._level < 1)

    def untold(self, now: float, clock: float) -> Taken:
        """What was taken and not told yet, by the wall's clock."""
        since = clock - (now - self._since) if self._untold else clock
        most = 2 * self._limit.burst / self._limit.rate + DEBT_SECONDS
        return Taken(since, self._untold / self._limit.rate, clock + most)

    def told(self, full_in: float, now: float) -> None:
        """Go on with what is left when the shared bucket, everything told, will be full in so many seconds."""
        self._level = min(self._limit.burst, 2 * self._limit.burst - full_in * self._limit.rate)
        self._filled_at = now
        self._untold = 0
        self._quiet_until = now + TELL_SECONDS

    def failed(self, now: float) -> None:
        """Go on alone for a while."""
        self._quiet_until = now + PAUSE_SECONDS

    def take(self, now: float) -> bool:
        """Whether there was a token for a request."""
        self._fill(now)
        if self._level < 1:
            return False
        self._level -= 1
        if not self._untold:
            self._since = now
        self._untold += 1
        return True

    @property
    def seconds_to_next(self) -> int:
        """How long to wait for a token, rounded up."""
        return max(1, math.ceil((1 - self._level) / self._limit.rate))

    def _fill(self, now: float) -> None:
        self._level = min(self._limit.burst, self._level + (now - self._filled_at) * self._limit.rate)
        self._filled_at = now
