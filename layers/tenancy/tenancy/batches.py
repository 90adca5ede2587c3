"""Work that takes more than one call: what is done stays done and is reported, whatever happens to the rest."""

import time
from collections.abc import Callable, Iterable, Sequence

from tenancy.aws import CALL_SECONDS
from tenancy.errors import QueueError
from tenancy.telemetry import log_unhandled

SIZE = 10
"""Entries that SQS takes in one call."""


def tens[T](entries: Sequence[T]) -> list[Sequence[T]]:
    """The entries in groups that one call takes."""
    return [entries[start : start + SIZE] for start in range(0, len(entries), SIZE)]


def attempt[T](batches: Iterable[T], do: Callable[[T], None], deadline: float) -> None:
    """Do one batch after the other, as long as another call ends before the deadline.

    A fault of the first one is raised; a later one ends the work quietly, since an error would hide what is done.
    """
    done = False
    for batch in batches:
        if done and time.monotonic() + CALL_SECONDS > deadline:
            return
        try:
            do(batch)
        except Exception as fault:
            if not done:
                raise
            if not isinstance(fault, QueueError):
                log_unhandled(fault)
            return
        done = True
