"""What a deleted user had, destroyed one thing after the other. Whoever dies at it leaves the rest to the next."""

import time
from collections.abc import Iterator

from tenancy import fleet, keys, table, teardown
from tenancy.aws import CALL_SECONDS
from tenancy.errors import NotFound
from tenancy.registry import queue_key, queue_of, user_key
from tenancy.reservations import Leftover
from tenancy.table import Item
from tenancy.telemetry import audit

_AT_A_TIME = 100


def destroy_user(user_id: str, deadline: float) -> bool:
    """Destroy all that a deleted user had; whether nothing is left of it. Time ends at `deadline` (monotonic)."""
    key = user_key(user_id)
    user = table.read([key]).get(key)
    if user is None:
        return True
    assert user["status"] == "deleting", "only what was retired is destroyed"
    if [item for item in _queues(user_id) if not _destroy_queue(item, deadline)]:
        return False
    keys.destroy_sealed(user_id, user["company"])
    fleet.remove_task_role(user_id)
    table.delete(key)
    audit(company=user["company"], user=user_id, resource=user_id)
    return True


def due(limit: int) -> list[tuple[str, int]]:
    """Deleted users of whom something is left, and since when (in seconds since 1970) nobody should be at it."""
    records = table.due("user", before=int(time.time()), limit=limit)
    return [(item["id"], item["due_at"]) for item in table.read(records).values()] if records else []


def _queues(user_id: str) -> Iterator[Item]:
    """The records of the user's queues, in use or not."""
    after: str | None = ""
    while after is not None:
        names, after = table.page(user_key(user_id)[0], "QUEUE_NAME#", after=after, limit=_AT_A_TIME)
        places = [queue_key(item["queue_id"]) for item in names]
        yield from table.read(places).values() if places else ()


def _destroy_queue(item: Item, deadline: float) -> bool:
    """Whether the queue is in nobody's way any more."""
    if time.monotonic() + CALL_SECONDS > deadline:
        return False
    queue = queue_of(item)
    try:
        if item["state"] == "active":
            teardown.destroy(queue)
        elif item["due_at"] > time.time():
            return False  # A request that began before the user was deleted may still be making it.
        else:
            teardown.clean_up(Leftover(item))
    except NotFound:
        return True  # Somebody else is at it.
    audit(company=queue.company, user=queue.user, resource=queue.id)
    return True
