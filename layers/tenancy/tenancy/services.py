"""A service's name and record from the first write to the last: taken before ECS is asked, freed before ECS is told.

As with queues, what a function leaves that died is marked `due` and used by nobody, and is for the reconciler.
"""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from tenancy import keys, table
from tenancy.aws import SERVICES_PER_USER
from tenancy.errors import QUOTA_SECONDS, AlreadyExists, NotFound, RateLimited, RequestInProgress
from tenancy.names import NO_ID, is_id
from tenancy.registry import STORED_OF_SERVICES, Service, service_key, service_of, user_key
from tenancy.table import ConditionFailed, Item, Write

type State = Literal["creating", "active", "deleting"]

DUE: dict[State, str] = {"creating": "service_creating", "active": "service_changed", "deleting": "service_deleting"}
"""What a record is due for when it is left in a state."""

WORKING_SECONDS = 30
"""Whoever makes, changes or destroys a service has done so by then, or has died: no function runs longer."""
_USUAL_SECONDS = 5
"""Making a service takes less than this, unless the function dies."""
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Leftover:
    """The record of a service that is not as it should be."""

    item: Item

    @property
    def service(self) -> Service:
        return service_of(self.item)

    @property
    def state(self) -> State:
        state: State = self.item["state"]
        return state

    @property
    def due_at(self) -> int:
        """Since when (in seconds since 1970) nobody works on it."""
        since: int = self.item["due_at"]
        return since


def reserve(service: Service, key: Sequence[Write]) -> None:
    """Take the service's name, and write its record as being made and its key.

    Raises AlreadyExists, RequestInProgress while another request makes a service of that name, RateLimited when the
    user has as many as one may have, NotFound when the user is being deleted. A reservation that was never finished is
    left to the reconciler.
    """
    one_more = table.change(
        user_key(service.user),
        "ADD services :one",
        condition="#status = :active AND services < :most",
        active="active",
        one=1,
        most=SERVICES_PER_USER,
    )
    for _ in range(_TRIES):
        try:
            return table.transact([table.put(_name_item(service)), one_more, _record(service), *key])
        except ConditionFailed:
            stale = holder(service)
        if stale is not None:
            with suppress(NotFound):
                retire(stale, "creating")
    raise _in_progress()


def holder(service: Service) -> Service | None:
    """The stale reservation that holds the service's name, None when the name is free by now.

    Raises what else can be the matter.
    """
    user, name = user_key(service.user), _name_key(service.user, service.name)
    found = table.read([user, name])
    if user not in found or found[user]["status"] != "active":
        raise NotFound()
    if name not in found and found[user]["services"] >= SERVICES_PER_USER:
        raise _too_many()
    held = read(found[name]["service_id"]) if name in found else None
    if held is None or held["state"] == "deleting":
        return None
    if held["state"] == "active":
        raise AlreadyExists(f"there is a service named {service.name!r}", id=held["id"])
    if (left := held["due_at"] - time.time()) > 0:
        # One that is young will be there at once; an older one is more likely left over.
        raise _in_progress(1 if left > WORKING_SECONDS - _USUAL_SECONDS else math.ceil(left))
    return service_of(held)


def activate(service: Service) -> None:
    """Put a service into use. Raises RequestInProgress when it took so long that another request took the name over."""
    try:
        table.update(
            service_key(service.id),
            "SET #state = :active REMOVE due, due_at",
            condition="#state = :creating",
            values={"active": "active", "creating": "creating"},
        )
    except ConditionFailed as overtaken:
        raise _in_progress() from overtaken


def retire(service: Service, state: State = "active") -> None:
    """Free the service's name, revoke its key and mark it as being destroyed: from here on it exists for nobody.

    Raises NotFound when it is not in this state any more.
    """
    for _ in range(_TRIES):
        try:
            return table.transact([*_retirement(service, state), *keys.revocation(service.company, service.key_id)])
        except ConditionFailed:
            # Or its key was just revoked by somebody.
            if (read(service.id) or {}).get("state") != state:
                raise NotFound() from None
    raise _in_progress()


def forget(service: Service) -> None:
    """Remove the record of a service of which nothing is left."""
    table.delete(service_key(service.id))


def read(service_id: str) -> Item | None:
    """What is stored of a service, in use or not."""
    place = service_key(service_id)
    return table.read([place]).get(place)


def find(user: str, service_id: str) -> Service:
    """The user's service of that id, also one that is about to be put into use. Raises NotFound for any other."""
    item = read(service_id if is_id(service_id) else NO_ID)
    if item is None or item["state"] == "deleting" or item["user"] != user:
        raise NotFound()
    return service_of(item)


def untold(service_id: str) -> list[Service]:
    """The service, if its tasks are still to be told of its queue."""
    item = read(service_id)
    return [service_of(item)] if item is not None and item.get("due") == DUE["active"] else []


def page(user: str, *, after: str, limit: int) -> tuple[list[Service], str | None]:
    """Up to `limit` services by name, from behind the name `after`, and the name to go on from (None at the end)."""
    names, more = table.page(user_key(user)[0], "SERVICE_NAME#", after=after, limit=limit)
    return _in_use([item["service_id"] for item in names]), more


def named(user: str, name: str) -> list[Service]:
    """The service of that name, or nothing."""
    place = _name_key(user, name)
    holder = table.read([place]).get(place)
    return _in_use([holder["service_id"]]) if holder else []


def scaled(service_id: str, reason: str, at: int) -> None:
    """Note why the desired count was changed, and when (in seconds since 1970), unless it was changed again since."""
    with suppress(ConditionFailed):
        table.update(
            service_key(service_id),
            "SET last_scaled_at = :at, last_scale_reason = :reason",
            condition="attribute_exists(pk) AND (attribute_not_exists(last_scaled_at) OR last_scaled_at <= :at)",
            values={"at": at, "reason": reason},
        )


def due(limit: int) -> list[Leftover]:
    """Services that a function has left half made, half changed or half destroyed, the oldest first."""
    now = int(time.time())
    places = [place for kind in DUE.values() for place in table.due(kind, before=now, limit=limit // len(DUE))]
    # The index may be behind the table, so the records themselves say what is due.
    records = table.read(places).values() if places else ()
    leftovers = [Leftover(item) for item in records if "due_at" in item]
    return sorted((left for left in leftovers if left.due_at <= now), key=lambda left: left.due_at)


def _record(service: Service) -> Write:
    return table.put(
        {
            **table.at(service_key(service.id)),
            "state": "creating",
            "due": DUE["creating"],
            "due_at": int(service.created_at) + WORKING_SECONDS,
            **{field: getattr(service, field) for field in STORED_OF_SERVICES},
            "created_at": str(service.created_at),
            "queue_id": service.queue_id,
            "last_scaled_at": service.last_scaled_at,
            "last_scale_reason": service.last_scale_reason,
        }
    )


def _retirement(service: Service, state: State) -> Iterator[Write]:
    yield table.remove(_name_key(service.user, service.name), condition="service_id = :id", id=service.id)
    yield table.change(user_key(service.user), "ADD services :less", condition="attribute_exists(pk)", less=-1)
    yield table.change(
        service_key(service.id),
        "SET #state = :deleting, due = :due, due_at = :due_at",
        condition="#state = :state",
        deleting="deleting",
        due=DUE["deleting"],
        due_at=int(time.time()) + WORKING_SECONDS,
        state=state,
    )


def _name_item(service: Service) -> Item:
    return {**table.at(_name_key(service.user, service.name)), "name": service.name, "service_id": service.id}


def _name_key(user: str, name: str) -> table.Key:
    return user_key(user)[0], "SERVICE_NAME#" + name


def _in_use(ids: Sequence[str]) -> list[Service]:
    """The services in use among `ids`, in that order."""
    places = [service_key(service_id) for service_id in ids]
    items = table.read(places) if places else {}
    found = [items[place] for place in places if place in items]
    return [service_of(item) for item in found if item["state"] == "active"]


def _too_many() -> RateLimited:
    return RateLimited(
        f"a user may have {SERVICES_PER_USER} services",
        hint="Delete services that are not needed any more, use another user, or ask the operator for more.",
        limit=SERVICES_PER_USER,
        reset=QUOTA_SECONDS,
    )


def _in_progress(seconds: int = 1) -> RequestInProgress:
    return RequestInProgress("another request is making or changing a service of this name", retry_after=seconds)
