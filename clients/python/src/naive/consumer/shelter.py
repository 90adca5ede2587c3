"""When a task has to be protected from being scaled in: while it holds messages."""

from __future__ import annotations

import math

from naive.constants import PROTECTION_IDLE_SECONDS, PROTECTION_MINUTES, PROTECTION_RETRY_SECONDS
from naive.consumer.commands import Protect


class Shelter:
    """The calls that begin, renew and end the protection."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._under_way: Protect | None = None
        self._is_up = False
        self._asked = False
        self._not_before = -math.inf
        self._busy_at = -math.inf

    @property
    def lets_start(self) -> bool:
        """Whether work may start: with protection, or without when it was asked for and not given."""
        return not self._wanted or self._asked

    @property
    def is_down(self) -> bool:
        """Whether nothing is left to be ended."""
        return not self._is_up and self._under_way is None

    def next_call(self, busy: bool, ending: bool, now: float) -> Protect | None:
        """The call to make now, if any; `busy` says that messages are held, `ending` that no more will come."""
        if busy:
            self._busy_at = now
        if self.next_at(busy, ending) > now:
            return None
        self._asked = self._asked and busy
        self._under_way = Protect(PROTECTION_MINUTES if busy else None)
        return self._under_way

    def next_at(self, busy: bool, ending: bool) -> float:
        """When the next call is due."""
        if not self._wanted or self._under_way:
            return math.inf
        if busy:
            return self._not_before
        if not self._is_up:
            return math.inf
        # Not between one message and the next: the agent does not like to be asked that often.
        return self._busy_at + (0 if ending else PROTECTION_IDLE_SECONDS)

    def answered(self, call: Protect, granted: bool, now: float) -> None:
        """The call was made; what was not granted is asked for again after a while."""
        self._under_way = None
        self._asked = self._is_up = call.minutes is not None
        if call.minutes is None:
            self._not_before = -math.inf
        else:
            self._not_before = now + (call.minutes * 60 / 2 if granted else PROTECTION_RETRY_SECONDS)
