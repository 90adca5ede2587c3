"""The net below every request: what functions that died have left is found by its index and destroyed, or finished."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import zip_longest
from typing import NamedTuple, TypedDict

from tenancy import arrangements, compute, demolition, reservations, scaler, services, table, teardown
from tenancy.aws import CALL_SECONDS
from tenancy.errors import NotFound
from tenancy.names import timestamp
from tenancy.registry import queue_key, service_key, user_key
from tenancy.scaling import ACT_SECONDS
from tenancy.table import Key
from tenancy.telemetry import log_unhandled

_AT_A_TIME = 100
_UNDONE = {"not finished", "failed"}


class Action(TypedDict):
    """One thing that was left, and what became of it."""

    resource: str
    left: str
    due_at: str
    outcome: str


class _Left(NamedTuple):
    """What was left, in which state, since when nobody works on it, what becomes of it, and how."""

    resource: str
    state: str
    key: Key
    due_at: int
    done: str
    act: Callable[[], bool]


def reconcile(deadline: float, *, dry_run: bool) -> list[Action]:
    """See to what is due, or with `dry_run` only say what there is. What fails is tried again after the others."""
    actions = []
    for left in _due(deadline):
        if time.monotonic() + CALL_SECONDS > deadline:
            break
        outcome = f"would be {left.done}" if dry_run else _outcome(left.done, left.act)
        actions.append(Action(resource=left.resource, left=left.state, due_at=timestamp(left.due_at), outcome=outcome))
        if outcome in _UNDONE:
            _outcome("put off", partial(table.put_off, left.key, left.due_at))
    if not dry_run:
        actions += _looked_at(deadline)
    return actions


def _due(deadline: float) -> Iterator[_Left]:
    """Some of each kind, the oldest first; the kinds take turns, so that none waits for all of another."""
    for turn in zip_longest(_queues(), _consumers(), _services(), _users(deadline)):
        yield from filter(None, turn)


def _queues() -> Iterator[_Left]:
    for left in reservations.due(_AT_A_TIME):
        resource, half = f"queue {left.queue.id}", f"half {'made' if left.state == 'creating' else 'destroyed'}"
        act = partial(teardown.clean_up, left)
        yield _Left(resource, half, queue_key(left.queue.id), left.due_at, "destroyed", act)


def _consumers() -> Iterator[_Left]:
    for item in arrangements.due(_AT_A_TIME):
        resource, act = f"consumer of queue {item['id']}", partial(arrangements.settle, item)
        yield _Left(resource, "half changed", queue_key(item["id"]), item["due_at"], "finished", act)


def _services() -> Iterator[_Left]:
    for left in services.due(_AT_A_TIME):
        half, done = _HALF[left.state]
        act = partial(compute.clean_up, left)
        yield _Left(f"service {left.service.id}", half, service_key(left.service.id), left.due_at, done, act)


def _users(deadline: float) -> Iterator[_Left]:
    for user, due_at in demolition.due(_AT_A_TIME):
        act = partial(demolition.destroy_user, user, deadline)
        yield _Left(f"user {user}", "half destroyed", user_key(user), due_at, "destroyed", act)


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
