"""What a loop is told once, when it is made."""

from __future__ import annotations

from dataclasses import dataclass

from naive.constants import LEAST_VISIBILITY, MAX_LEASE_SECONDS, MAX_RECEIVE, MAX_WAIT
from naive.errors import InvalidInputError
from naive.models import Queue


@dataclass(frozen=True)
class Settings:
    """How a loop works on its queue."""

    fifo: bool
    max_receives: int | None
    """After how many receives a message becomes a dead letter."""
    concurrency: int
    """How many messages are leased and worked on at the same time."""
    max: int
    """How many one receive takes at most."""
    wait: int
    visibility: int
    drain_seconds: float
    """How long handlers may go on once the loop is stopped."""
    idle_exit: float | None
    """After how many seconds without a message the loop stops by itself."""
    protected: bool
    """Whether somebody has to be asked for protection before work starts."""

    @classmethod
    def of(
        cls,
        queue: Queue,
        *,
        concurrency: int,
        max: int | None,
        wait: int,
        visibility: int | None,
        drain_seconds: float,
        idle_exit: float | None,
        protected: bool,
    ) -> Settings:
        """The settings for a queue: what is left out is chosen to suit it."""
        one_by_one = queue.type == "fifo" and queue.dlq
        settings = cls(
            fifo=queue.type == "fifo",
            max_receives=queue.max_receive_count,
            concurrency=concurrency,
            max=(1 if one_by_one else MAX_RECEIVE) if max is None else max,
            wait=wait,
            visibility=_usable(queue.visibility_timeout) if visibility is None else visibility,
            drain_seconds=drain_seconds,
            idle_exit=idle_exit,
            protected=protected,
        )
        settings._check()
        return settings

    def _check(self) -> None:
        _require("concurrency", self.concurrency, 1)
        _require("max", self.max, 1, MAX_RECEIVE)
        _require("wait", self.wait, 0, MAX_WAIT)
        # A shorter lease could end while one slow call is about to extend it.
        _require("visibility", self.visibility, LEAST_VISIBILITY, MAX_LEASE_SECONDS)
        _require("drain_seconds", self.drain_seconds, 0)
        _require("idle_exit", self.idle_exit or 0, 0)


def is_within(value: object, least: int, most: int | None = None) -> bool:
    """Whether it is a number, and in the range."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    return value >= least and (most is None or value <= most)


def _usable(visibility: int) -> int:
    return max(LEAST_VISIBILITY, visibility)


def require_handler(handler: object) -> None:
    """Refuse a handler that nothing can be given to: each message would count as failed."""
    if not callable(handler):
        raise InvalidInputError("handler has to be a function of one message.")


def _require(name: str, value: object, least: int, most: int | None = None) -> None:
    if not is_within(value, least, most):
        span = f"{least} to {most}" if most is not None else f"at least {least}"
        raise InvalidInputError(f"{name} has to be {span}.")
