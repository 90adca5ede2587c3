"""The net below every request: what functions that died have left is found by its index and destroyed, or finished."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypedDict

from tenancy import arrangements, compute, demolition, reservations, scaler, services, teardown
from tenancy.aws import CALL_SECONDS
from tenancy.errors import NotFound
from tenancy.names import timestamp
from tenancy.scaling import ACT_SECONDS
from tenancy.telemetry import log_unhandled

_AT_A_TIME = 100


class Action(TypedDict):
    """One thing that was left, and what became of it."""

    resource: str
    left: str
    due_at: str
    outcome: str


type _Left = tuple[str, str, int, str, Callable[[], bool]]
"""What was left, in which state, since when nobody works on it, what becomes of it, and how."""


def reconcile(deadline: float, *, dry_run: bool) -> list[Action]:
    """See to what is due, or with `dry_run` only say what there is. What fails is tried again the next time."""
    actions = []
    for resource, left, due_at, done, act in _due(deadline):
        if time.monotonic() + CALL_SECONDS > deadline:
            break
        outcome = f"would be {done}" if dry_run else _outcome(done, act)
        actions.append(Action(resource=resource, left=left, due_at=timestamp(due_at), outcome=outcome))
    if not dry_run:
        actions += _looked_at(deadline)
    return actions


def _due(deadline: float) -> Iterator[_Left]:
    for left in reservations.due(_AT_A_TIME):
        half = f"half {'made' if left.state == 'creating' else 'destroyed'}"
        yield f"queue {left.queue.id}", half, left.due_at, "destroyed", partial(teardown.clean_up, left)
    for item in arrangements.due(_AT_A_TIME):
        what = f"consumer of queue {item['id']}"
        yield what, "half changed", item["due_at"], "finished", partial(arrangements.settle, item)
    for service in services.due(_AT_A_TIME):
        half, done = _HALF[service.state]
        yield f"service {service.service.id}", half, service.due_at, done, partial(compute.clean_up, service)
    for user, due_at in demolition.due(_AT_A_TIME):
        destroy = partial(demolition.destroy_user, user, deadline)
        yield f"user {user}", "half destroyed", due_at, "destroyed", destroy


def _looked_at(deadline: float) -> Iterator[Action]:
    """Look at queues whose service sleeps or whose ticks were lost, and tell where something followed from it."""
    for queue_id, since in scaler.neglected(deadline):
        if time.monotonic() + ACT_SECONDS > deadline:
            return
        outcome = _outcome("looked at", partial(scaler.look, queue_id, "look"))
        if outcome != "not finished":
            resource = f"service of queue {queue_id}"
            yield Action(resource=resource, left="not looked at", due_at=timestamp(since), outcome=outcome)


_HALF: dict[services.State, tuple[str, str]] = {
    "creating": ("half made", "destroyed"),
    "active": ("half changed", "finished"),
    "deleting": ("half destroyed", "destroyed"),
}


def _outcome(done: str, act: Callable[[], bool]) -> str:
    try:
        return done if act() else "not finished"
    except NotFound:
        return "taken over by somebody else"
    except Exception as fault:
        log_unhandled(fault)
        return "failed"
