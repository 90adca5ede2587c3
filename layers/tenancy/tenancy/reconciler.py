"""The net below every request: what functions that died have left is found by its index and destroyed."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypedDict

from tenancy import demolition, queues, reservations
from tenancy.aws import CALL_SECONDS
from tenancy.errors import NotFound
from tenancy.names import timestamp
from tenancy.telemetry import log_unhandled

_AT_A_TIME = 100


class Action(TypedDict):
    """One thing that was left, and what became of it."""

    resource: str
    left: str
    due_at: str
    outcome: str


type _Left = tuple[str, str, int, Callable[[], bool]]
"""What was left, in which state, since when nobody works on it, and how it is destroyed."""


def reconcile(deadline: float, *, dry_run: bool) -> list[Action]:
    """Destroy what is due, or with `dry_run` only say what there is. One that fails is tried again the next time."""
    actions = []
    for resource, left, due_at, destroy in _due(deadline):
        if time.monotonic() + CALL_SECONDS > deadline:
            break
        outcome = "would be destroyed" if dry_run else _outcome(destroy)
        actions.append(Action(resource=resource, left=left, due_at=timestamp(due_at), outcome=outcome))
    return actions


def _due(deadline: float) -> Iterator[_Left]:
    for left in reservations.due(_AT_A_TIME):
        half = f"half {'made' if left.state == 'creating' else 'destroyed'}"
        yield f"queue {left.queue.id}", half, left.due_at, partial(queues.clean_up, left)
    for user, due_at in demolition.due(_AT_A_TIME):
        yield f"user {user}", "half destroyed", due_at, partial(demolition.destroy_user, user, deadline)


def _outcome(destroy: Callable[[], bool]) -> str:
    try:
        return "destroyed" if destroy() else "not finished"
    except NotFound:
        return "taken over by somebody else"
    except Exception as fault:
        log_unhandled(fault)
        return "failed"
