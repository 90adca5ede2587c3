"""When to receive, and how much: one long poll while there is little, more at once while there is plenty."""

from __future__ import annotations

import math
from collections.abc import Callable

from naive.constants import BESIDE_WAIT, EMPTY_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, POLL_CALLS
from naive.consumer.commands import Receive
from naive.retries import backoff


class Polls:
    """The receive calls."""

    def __init__(self, max: int, visibility: int, chance: Callable[[], float]) -> None:
        self._max = max
        self._visibility = visibility
        self._chance = chance
        self._under_way: list[Receive] = []
        self._at_once = 1
        self._failures = 0
        self._not_before = -math.inf

    @property
    def are_under_way(self) -> bool:
        return bool(self._under_way)

    def next_call(self, room: int, wait: int, now: float) -> Receive | None:
        """The call to make now, if any, when so many more messages could be started at once."""
        if self.next_at(room) > now:
            return None
        # One waits for what is to come. Those beside it take what is there: waiting, they would be in others' way.
        wait = min(wait, BESIDE_WAIT) if self._under_way else wait
        call = Receive(min(self._free(room), self._max), wait, self._visibility, now)
        self._under_way.append(call)
        return call

    def next_at(self, room: int) -> float:
        """When the next call is due."""
        if self._free(room) < 1 or len(self._under_way) >= self._at_once:
            return math.inf
        return self._not_before

    def answered(self, call: Receive, number: int, now: float) -> None:
        """A call brought so many messages. As many as it asked for: there may be more, so more calls ask for them."""
        self._under_way.remove(call)
        self._failures = 0
        self._at_once = min(2 * self._at_once, POLL_CALLS) if number >= call.max else 1
        # A server that does not wait, although it has nothing, is not asked all the time.
        self._not_before = -math.inf if number else call.at + EMPTY_PAUSE_SECONDS

    def failed(self, call: Receive, asked: float, now: float) -> None:
        """A call failed, and the server asked for so many seconds of patience."""
        self._under_way.remove(call)
        self._failures += 1
        self._at_once = 1
        self._not_before = now + min(asked, LONGEST_PAUSE_SECONDS) + backoff(self._failures, self._chance())

    def _free(self, room: int) -> int:
        """The part of the room that no call under way may fill."""
        return room - sum(call.max for call in self._under_way)
