"""The net below every request: what functions that died have left is found by its index and destroyed."""

import time
from typing import TypedDict

from tenancy import queues, reservations
from tenancy.aws import CALL_SECONDS
from tenancy.errors import NotFound
from tenancy.names import timestamp
from tenancy.telemetry import log_unhandled

_AT_A_TIME = 100


class Action(TypedDict):
    """One thing that was left, and what became of it."""

    queue_id: str
    left: str
    due_at: str
    outcome: str


def reconcile(deadline: float, *, dry_run: bool) -> list[Action]:
    """Destroy what is due, or with `dry_run` only say what there is. One that fails is tried again the next time."""
    actions = []
    for left in reservations.due(_AT_A_TIME):
        if time.monotonic() + CALL_SECONDS > deadline:
            break
        outcome = "would be destroyed" if dry_run else _clean_up(left)
        actions.append(
            Action(
                queue_id=left.queue.id,
                left=f"half {'made' if left.state == 'creating' else 'destroyed'}",
                due_at=timestamp(left.due_at),
                outcome=outcome,
            )
        )
    return actions


def _clean_up(left: reservations.Leftover) -> str:
    try:
        queues.clean_up(left)
    except NotFound:
        return "taken over by somebody else"
    except Exception as fault:
        log_unhandled(fault)
        return "failed"
    return "destroyed"
