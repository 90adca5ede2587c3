"""AWS made to follow what is written of a consumer: tried once by the request that wrote it, then by the reconciler."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tenancy import engagements, mappings, scaler, table
from tenancy.aws import WEBHOOK_WORKER
from tenancy.engagements import without
from tenancy.errors import NotFound
from tenancy.mappings import Busy
from tenancy.registry import Queue, queue_of
from tenancy.table import ConditionFailed, Item
from tenancy.telemetry import log_unhandled

_RECONCILER_SECONDS = 120
"""The reconciler has tried what it could by then, or has died."""


def mapping(consumer: Mapping[str, Any]) -> Item:
    """What AWS may have once it is tried to have it follow."""
    match consumer["type"]:
        case "function":
            found = {"function": consumer["function"], "role": consumer["role"]}
        case "webhook":
            # Its role is one of ours, which every queue admits.
            found = {"function": WEBHOOK_WORKER, "role": None}
        case _:
            return {"service_id": consumer["service_id"]}
    return {**found, "uuid": None, "booked": consumer["max_concurrency"]}


def is_free_for(item: Item, consumer: Mapping[str, Any]) -> bool:
    """Whether nothing has to be undone before AWS can follow: at most somebody has begun to make just this."""
    unknown = {"booked": None}
    return "mapping" not in item or {**item["mapping"], **unknown} == {**mapping(consumer), **unknown}


def arrange(item: Item, how: Callable[[Queue, Item, Item], str]) -> Item:
    """Have AWS be as the record wants it, where what it may have is for that; the record as it is then.

    Raises Busy, ConditionFailed when something else is wanted meanwhile, and whatever `how` does.
    """
    queue, consumer, noted = queue_of(item), item["consumer"], item["mapping"]
    if consumer["type"] == "service":
        scaler.attach(queue, consumer["service_id"])
        return engagements.note(item, {**item, "due": "service", "due_at": int(time.time())})
    uuid = how(queue, noted, consumer)
    made = {**noted, "uuid": uuid, "booked": consumer["max_concurrency"]}
    return engagements.note(item, without({**item, "mapping": made}, "due", "due_at"))


def undo(item: Item) -> Item:
    """Undo what AWS may have, for whatever is wanted now; the record as it is then.

    Raises Busy, ConditionFailed when something else is wanted meanwhile.
    """
    if "service_id" in item["mapping"]:
        scaler.detach(queue_of(item), item["mapping"]["service_id"])
    else:
        mappings.undo(queue_of(item), item["mapping"])
    left = without(item, "mapping")
    return engagements.note(item, left if "consumer" in item else without(left, "due", "due_at"))


@contextmanager
def trying() -> Iterator[None]:
    """Try what is noted already: what fails of it is left to the reconciler."""
    try:
        yield
    except (Busy, ConditionFailed):
        pass
    except Exception as fault:
        log_unhandled(fault)


def dismiss(item: Item) -> bool:
    """Have nobody work for a queue any more that is being destroyed; whether AWS has taken that."""
    noted = item.get("mapping")
    try:
        if noted is not None and "service_id" in noted:
            scaler.detach(queue_of(item), noted["service_id"])
        elif noted is not None:
            mappings.delete(queue_of(item), noted)
    except Busy:
        return False
    return True


def due(limit: int) -> list[Item]:
    """The records of queues for whose consumer AWS is not as is wanted while nobody is at it, the oldest first."""
    now = int(time.time())
    keys = table.due("consumer", before=now, limit=limit)
    # The index may be behind the table, so the records themselves say what is due.
    items = [item for item in table.read(keys).values() if item.get("due") == "consumer"] if keys else []
    return sorted((item for item in items if item["due_at"] <= now), key=lambda item: int(item["due_at"]))


def settle(item: Item) -> bool:
    """Have AWS follow what a record says; whether it has.

    Raises NotFound when somebody else has gone on with it meanwhile, and whatever making a mapping raises.
    """
    try:
        item = engagements.update(item, "SET due_at = :later", later=int(time.time()) + _RECONCILER_SECONDS)
        if "mapping" in item and not _is_for(item["mapping"], item.get("consumer")):
            item = undo(item)
        if "consumer" in item and "mapping" not in item:
            item = engagements.note(item, {**item, "mapping": mapping(item["consumer"])})
        if "consumer" in item:
            arrange(item, mappings.settle)
        elif "due" in item:
            engagements.note(item, without(item, "due", "due_at"))
    except Busy:
        return False
    except ConditionFailed as overtaken:
        raise NotFound() from overtaken
    return True


def _is_for(noted: Item, consumer: Mapping[str, Any] | None) -> bool:
    known = {"uuid": None, "booked": None}
    return consumer is not None and {**noted, **known} == {**mapping(consumer), **known}
