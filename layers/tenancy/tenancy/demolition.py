"""What a deleted user had, destroyed one thing after the other. Whoever dies at it leaves the rest to the next."""

import time
from collections.abc import Callable, Iterator

from tenancy import compute, keys, roles, services, table, teardown
from tenancy.aws import CALL_SECONDS
from tenancy.errors import NotFound
from tenancy.registry import queue_of, service_of, user_key
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
    for kind in _KINDS:
        if [item for item in _listed(user_id, kind) if not _destroy(kind, item, deadline)]:
            return False
    keys.destroy_sealed(user_id, user["company"])
    roles.remove_task_role(user_id)
    table.delete(key)
    audit(company=user["company"], user=user_id, resource=user_id)
    return True


def due(limit: int) -> list[tuple[str, int]]:
    """Deleted users of whom something is left, and since when (in seconds since 1970) nobody should be at it."""
    records = table.due("user", before=int(time.time()), limit=limit)
    return [(item["id"], item["due_at"]) for item in table.read(records).values()] if records else []


def _listed(user_id: str, kind: str) -> Iterator[Item]:
    """The records of what the user has of a kind, in use or not."""
    after: str | None = ""
    while after is not None:
        names, after = table.page(user_key(user_id)[0], f"{kind}_NAME#", after=after, limit=_AT_A_TIME)
        places = [(f"{kind}#{item[f'{kind.lower()}_id']}", kind) for item in names]
        yield from table.read(places).values() if places else ()


def _destroy(kind: str, item: Item, deadline: float) -> bool:
    """Whether it is in nobody's way any more."""
    if time.monotonic() + CALL_SECONDS > deadline:
        return False
    destroy, clean_up = _KINDS[kind]
    try:
        if item["state"] == "active":
            destroy(item)
        elif item["due_at"] > time.time():
            return False  # A request that began before the user was deleted may still be making it.
        else:
            clean_up(item)
    except NotFound:
        return True  # Somebody else is at it.
    audit(company=item["company"], user=item["user"], resource=item["id"])
    return True


_KINDS: dict[str, tuple[Callable[[Item], object], Callable[[Item], object]]] = {
    "SERVICE": (
        lambda item: compute.destroy(service_of(item)),
        lambda item: compute.clean_up(services.Leftover(item)),
    ),
    "QUEUE": (
        lambda item: teardown.destroy(queue_of(item)),
        lambda item: teardown.clean_up(Leftover(item)),
    ),
}
"""What a user has, in the order in which it goes: how what is in use is destroyed, and what is left of the rest."""
