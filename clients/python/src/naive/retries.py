"""When a failed call may be tried again, and after how long; nothing here waits or sends."""

from __future__ import annotations

from enum import Enum, auto

from naive.constants import BACKOFF_CAP_SECONDS, BACKOFF_SECONDS, LONGEST_RETRY_AFTER_SECONDS, MAX_ATTEMPTS
from naive.errors import NaiveError, NoAnswerError, UnreachableError

_TRANSIENT_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
_TRANSIENT_ENTRY_CODES = frozenset({"rate_limited", "unavailable"})
_DOUBLINGS = 60  # no cap is as far away, and no number too large for a float


class Repeatable(Enum):
    """What a call risks when it is made twice."""

    ALWAYS = auto()
    """Nothing: reads, acks, and what carries an idempotency key or a deduplication id."""
    UNLESS_ACCEPTED = auto()
    """A second message: a plain send is repeated only when the first was surely not accepted."""
    UNLESS_RUN = auto()
    """Messages leased to nobody: a receive is repeated only when the first surely did not run."""


def pause_before_retry(repeatable: Repeatable, failure: NaiveError, attempt: int, spread: float) -> float | None:
    """Seconds to wait before the next attempt, or None where the failure has to be reported.

    `attempt` counts from 1; `spread` is a random number from 0 to 1 that keeps clients from retrying in step.
    """
    if attempt >= MAX_ATTEMPTS or not _may_repeat(repeatable, failure):
        return None
    asked = failure.retry_after or 0.0
    if asked > LONGEST_RETRY_AFTER_SECONDS:
        return None
    return asked + backoff(attempt, spread)


def backoff(attempt: int, spread: float) -> float:
    """Seconds that double with each attempt, the second half of them at random."""
    return growing(BACKOFF_SECONDS, BACKOFF_CAP_SECONDS, attempt, spread)


def growing(first: float, cap: float, attempt: int, spread: float) -> float:
    """The same from another first number up to another cap."""
    full = min(cap, first * 2.0 ** min(attempt - 1, _DOUBLINGS))
    return full * (1 + spread) / 2


def entry_may_repeat(code: str) -> bool:
    """Whether an entry of a batch that failed with this code was not accepted and may be sent again."""
    return code in _TRANSIENT_ENTRY_CODES


def surely_not_accepted(failure: NaiveError) -> bool:
    """Whether what a failed call carried is known to have had no effect."""
    refused = failure.status is not None and (400 <= failure.status < 500 or failure.status == 503)
    return refused or isinstance(failure, UnreachableError)


def _may_repeat(repeatable: Repeatable, failure: NaiveError) -> bool:
    if isinstance(failure, UnreachableError):
        return True
    if repeatable is Repeatable.UNLESS_RUN:
        return failure.status == 429
    if repeatable is Repeatable.UNLESS_ACCEPTED:
        return failure.status in (429, 503)
    return (
        isinstance(failure, NoAnswerError)
        or failure.status in _TRANSIENT_STATUSES
        or failure.code == "request_in_progress"
    )
