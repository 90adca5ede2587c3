"""A queue's name and record from the first write to the last: taken before SQS is asked, freed before SQS is told.

A function may die between any two calls. What it leaves is marked `due` and used by nobody: the name of a half-made
queue is taken over once no function can be working on it any more, and what is left of it is for the reconciler.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tenancy import table
from tenancy.aws import QUEUES_PER_USER
from tenancy.errors import QUOTA_SECONDS, AlreadyExists, NotFound, RateLimited, RequestInProgress
from tenancy.registry import STORED, Queue, name_key, queue_key, queue_of, user_key
from tenancy.table import ConditionFailed, Item, Write

_USUAL_SECONDS = 3
"""Making a queue takes a fraction of this, unless the function dies."""

_DELETING_SECONDS = 30
"""The request that retired a queue destroys it itself, unless it dies within this time."""

_TRIES = 3
_CREATING_SECONDS = 30
"""A queue that is still being made after this long is left over from a function that died: none runs longer."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """The record of a queue that is neither in use nor gone."""

    item: Item

    @property
    def queue(self) -> Queue:
        return queue_of(self.item)

    @property
    def state(self) -> Literal["creating", "deleting"]:
        state: Literal["creating", "deleting"] = self.item["state"]
        return state

    @property
    def due_at(self) -> int:
        """Since when (in seconds since 1970) nobody works on it."""
        since: int = self.item["due_at"]
        return since


def reserve(queue: Queue) -> None:
    """Take the queue's name and write its record as being made.

    Raises AlreadyExists, RequestInProgress while another request makes a queue of that name, RateLimited when the user
    has as many as one may have, NotFound when the user is being deleted. A reservation that was never finished is taken
    over and left to the reconciler.
    """
    one_more = table.change(
        user_key(queue.user),
        "ADD queues :one",
        condition="#status = :active AND queues < :most",
        active="active",
        one=1,
        most=QUEUES_PER_USER,
    )
    for _ in range(_TRIES):
        try:
            return table.transact([table.put(_name_item(queue)), one_more, _record(queue)])
        except ConditionFailed:
            stale = _unfinished(queue)
        if stale is None:
            continue
        takeover = [
            table.put(_name_item(queue), condition="queue_id = :stale", stale=stale["id"]),
            table.check(user_key(queue.user), "#status = :active", active="active"),
            _abandon(stale["id"]),
        ]
        try:
            return table.transact([*takeover, _record(queue)])
        except ConditionFailed:
            continue
    raise _in_progress()


def activate(queue: Queue, url: str, dlq_url: str | None) -> None:
    """Put a queue into use. Raises RequestInProgress when it took so long that another request took the name over."""
    try:
        table.update(
            queue_key(queue.id),
            "SET #state = :active, #url = :url, dlq_url = :dlq_url REMOVE due, due_at",
            condition="#state = :creating",
            values={"active": "active", "creating": "creating", "url": url, "dlq_url": dlq_url},
        )
    except ConditionFailed as overtaken:
        raise _in_progress() from overtaken


def retire(item: Item, release: Sequence[Write]) -> None:
    """Free the name of a queue with this record, and mark it as being destroyed: from here on it exists for nobody.

    `release` frees what its consumer holds. Raises ConditionFailed when the record is another one by now.
    """
    queue = queue_of(item)
    due_at = int(time.time()) + _DELETING_SECONDS
    if item.get("due") == "consumer":
        due_at = max(due_at, item["due_at"])  # Until then somebody may yet make something for it.
    unchanged, values = table.unchanged(item, "state", "consumer", "due", "due_at")
    table.transact(
        [
            table.remove(name_key(queue.user, queue.name), condition="queue_id = :id", id=queue.id),
            table.change(user_key(queue.user), "ADD queues :less", condition="attribute_exists(pk)", less=-1),
            table.change(
                queue_key(queue.id),
                "SET #state = :deleting, due = :deleting, due_at = :due_at REMOVE consumer",
                condition=unchanged,
                deleting="deleting",
                due_at=due_at,
                **values,
            ),
            *release,
        ]
    )


def due(limit: int) -> list[Leftover]:
    """Queues that a function has left half made or half destroyed, the oldest first."""
    now = int(time.time())
    keys = [key for state in ("creating", "deleting") for key in table.due(state, before=now, limit=limit // 2)]
    # The index may be behind the table, so the records themselves say what is due.
    records = table.read(keys).values() if keys else ()
    leftovers = [Leftover(item) for item in records if item["state"] != "active"]
    return sorted((left for left in leftovers if left.due_at <= now), key=lambda left: left.due_at)


def _record(queue: Queue) -> Write:
    return table.put(
        {
            **table.at(queue_key(queue.id)),
            "state": "creating",
            "due": "creating",
            "due_at": int(queue.created_at) + _CREATING_SECONDS,
            **{field: getattr(queue, field) for field in STORED},
            "created_at": str(queue.created_at),
        }
    )


def _name_item(queue: Queue) -> Item:
    return {**table.at(name_key(queue.user, queue.name)), "name": queue.name, "queue_id": queue.id}


def _unfinished(queue: Queue) -> Item | None:
    """The record of the stale reservation that holds the queue's name, None when the name is free by now.

    Raises what else can be the matter.
    """
    user, name = user_key(queue.user), name_key(queue.user, queue.name)
    found = table.read([user, name])
    if user not in found or found[user]["status"] != "active":
        raise NotFound()
    if name not in found and found[user]["queues"] >= QUEUES_PER_USER:
        raise _too_many()
    holder = _holder(found[name]["queue_id"]) if name in found else None
    if holder is None or holder["state"] == "deleting":
        return None
    if holder["state"] == "active":
        raise AlreadyExists(f"there is a queue named {queue.name!r}", id=holder["id"])
    if (left := holder["due_at"] - time.time()) > 0:
        # One that is young will be there at once; an older one is more likely left over.
        raise _in_progress(1 if left > _CREATING_SECONDS - _USUAL_SECONDS else math.ceil(left))
    return holder


def _holder(queue_id: str) -> Item | None:
    key = queue_key(queue_id)
    return table.read([key]).get(key)


def _too_many() -> RateLimited:
    return RateLimited(
        f"a user may have {QUEUES_PER_USER} queues",
        hint="Delete queues that are not needed any more, use another user, or ask the operator for more.",
        limit=QUEUES_PER_USER,
        reset=QUOTA_SECONDS,
    )


def _in_progress(seconds: int = 1) -> RequestInProgress:
    return RequestInProgress("another request is making a queue of this name", retry_after=seconds)


def _abandon(queue_id: str) -> Write:
    """Mark a queue as being destroyed that was never finished."""
    return table.change(
        queue_key(queue_id),
        "SET #state = :deleting, due = :deleting, due_at = :due_at",
        condition="#state = :creating",
        deleting="deleting",
        due_at=int(time.time()) + _DELETING_SECONDS,
        creating="creating",
    )
