"""What a queue's record says of its consumer, and what is written with it.

`consumer` is what is wanted, and `mapping` what AWS may have for it, which is undone before anything else is made.
What a company's consumers may do at once is booked for the greater of the two, so nobody gets more by changing often.
While AWS is not as it is wanted, the record is due as "consumer", and `due_at` is when nobody is at it any more.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tenancy import employment, services, table
from tenancy.aws import COMPANY_CONCURRENCY
from tenancy.errors import QUOTA_SECONDS, NotFound, RateLimited, RequestInProgress
from tenancy.registry import Queue, company_key, queue_key
from tenancy.table import ConditionFailed, Item, Write
from tenancy.telemetry import log_unhandled

_TRIES = 3
_REQUEST_SECONDS = 30
"""A request that changed a consumer has tried what it could by then, or has died: none runs longer."""


@dataclass(frozen=True, slots=True)
class Written:
    """A queue's record before and after a change of what is wanted."""

    before: Item
    after: Item

    @property
    def claimed(self) -> bool:
        """Whether it is up to this request, and for a while to nobody else, that AWS follows."""
        before, after = ((item.get("due"), item.get("due_at")) for item in (self.before, self.after))
        return before != after


def write(queue: Queue, step: Callable[[Item], tuple[Item, list[Write]]]) -> Written:
    """Change the queue's record from what it is to what `step` makes of it, with the writes that go with that."""
    for _ in range(_TRIES):
        item = _read(queue)
        after, besides = step(item)
        if after == item and not besides:
            return Written(item, after)  # It is as it is wanted.
        try:
            table.transact([_record(item, after), *_booked(item, after), *besides])
        except ConditionFailed:
            _refuse_excess(queue.company, _booking(after) - _booking(item))
        else:
            return Written(item, after)
    raise RequestInProgress("another request is changing this queue or its consumer", retry_after=1)


def is_busy(item: Item) -> bool:
    """Whether somebody may be at what AWS has for the queue's consumer."""
    return item.get("due") == "consumer" and bool(item["due_at"] > time.time())


def claim() -> Item:
    """The fields that keep others from what AWS has, for as long as a request may be at it."""
    return {"due": "consumer", "due_at": int(time.time()) + _REQUEST_SECONDS}


def keep_booked(wanted: Item, item: Item) -> None:
    """Note that AWS may come to have what is wanted, and may have what it had before, until it has followed."""
    if "booked" in wanted.get("mapping", {}):
        most = max(_booking(wanted), item.get("mapping", {}).get("booked", 0))
        wanted["mapping"] = {**wanted["mapping"], "booked": most}


def without(item: Item, *fields: str) -> Item:
    """The item without these fields."""
    return {name: value for name, value in item.items() if name not in fields}


def update(item: Item, change: str, **values: Any) -> Item:
    """Change the record while nobody else is at it; the record as it is then. Raises ConditionFailed."""
    unchanged, same = table.unchanged(item, "state", "due", "due_at")
    return table.update(queue_key(item["id"]), change, condition=unchanged, values={**same, **values})


def note(item: Item, after: Item) -> Item:
    """Note what AWS has; the record as it is then. Raises ConditionFailed when what is wanted was changed meanwhile."""
    expression, values = _setting(item, after)
    unchanged, same = table.unchanged(item, "state", "consumer", "due", "due_at")
    key = queue_key(item["id"])
    freed = _booked(item, after)
    if not freed:
        return table.update(key, expression, condition=unchanged, values={**values, **same})
    table.transact([table.change(key, expression, condition=unchanged, **values, **same), *freed])
    return after


def holding(queue: Queue, consumer: Item, secret: str) -> list[Write]:
    """What is written with a new consumer, besides the queue's record and what is booked.

    Raises NotFound for a service that is not the queue's owner's, Conflict for one that is another queue's consumer.
    """
    match consumer["type"]:
        case "webhook":
            return [table.put({**table.at(_secret_key(queue.id)), "secret": secret})]
        case "service":
            return [employment.begin(services.find(queue.user, consumer["service_id"]), queue.id)]
        case _:
            return []


def freed(item: Item) -> list[Write]:
    """What is written when a consumer goes, besides the queue's record and what is booked."""
    match item["consumer"]["type"]:
        case "webhook":
            return [table.remove(_secret_key(item["id"]), condition="attribute_exists(pk)")]
        case "service":
            return employment.end(item["consumer"]["service_id"], item["id"])
        case _:
            return []


def release(item: Item) -> list[Write]:
    """What is written when the queue goes, besides its record, which keeps what AWS may still have."""
    return [*_booked(item, without(item, "consumer")), *freed(item)] if "consumer" in item else []


def forget(item: Item) -> None:
    """Remove the record of a queue of which nothing is left, and free what its mapping held."""
    gone = table.remove(queue_key(item["id"]), condition="attribute_exists(pk)")
    with suppress(ConditionFailed):  # Then somebody else has done it.
        table.transact([gone, *_booked(without(item, "consumer"), without(item, "consumer", "mapping"))])


def take_back(item: Item, *, made: bool) -> None:
    """Forget a consumer that could not be made; what may be `made` is undone by the reconciler, or used next time."""
    left = {**without(item, "consumer", "scaling"), "due_at": int(time.time())}
    if not made:
        left["mapping"] = {**item["mapping"], "booked": 0}
    try:
        table.transact([_record(item, left), *_booked(item, left), *freed(item)])
    except Exception as fault:
        log_unhandled(fault)  # And no more: the caller gets to know why it could not be made.


def _read(queue: Queue) -> Item:
    key = queue_key(queue.id)
    item = table.read([key]).get(key)
    if item is None or item["state"] != "active":
        raise NotFound()
    return item


def _record(item: Item, after: Item) -> Write:
    """The write that makes of a queue's record what it is to be, unless it is another one by now."""
    expression, values = _setting(item, after)
    unchanged, same = table.unchanged(item, "state", "visibility_timeout", "consumer", "mapping", "due", "due_at")
    return table.change(queue_key(item["id"]), expression, condition=unchanged, **values, **same)


def _setting(item: Item, after: Item) -> tuple[str, Item]:
    """The update expression that makes of one item the other, and its values."""
    values = {name: value for name, value in after.items() if item.get(name) != value}
    removed = [name for name in item if name not in after]
    parts = {"SET": [f"#{name} = :{name}" for name in values], "REMOVE": [f"#{name}" for name in removed]}
    return " ".join(f"{verb} {', '.join(words)}" for verb, words in parts.items() if words), values


def _booking(item: Item) -> int:
    """How much the queue's consumer may do at once, as it is wanted or as AWS may have it."""
    wanted: int = item.get("consumer", {}).get("max_concurrency", 0)
    there: int = item.get("mapping", {}).get("booked", 0)
    return max(wanted, there)


def _booked(item: Item, after: Item) -> list[Write]:
    """The write that books what a company's consumers may do at once, which is the sum of what each may."""
    more, key, change = _booking(after) - _booking(item), company_key(item["company"]), "ADD concurrency :more"
    if more > 0:
        room = COMPANY_CONCURRENCY - more
        return [table.change(key, change, condition="concurrency <= :room", more=more, room=room)]
    return [table.change(key, change, condition="attribute_exists(pk)", more=more)] if more else []


def _refuse_excess(company: str, more: int) -> None:
    key = company_key(company)
    if more > COMPANY_CONCURRENCY - table.read([key])[key]["concurrency"]:
        # How much is left is not said: it would tell a user what others use.
        raise RateLimited(
            f"the max_concurrency of a company's consumers may be {COMPANY_CONCURRENCY} in all",
            hint="Lower the max_concurrency of consumers, remove some, or ask the operator for more. What a consumer "
            "had is free once AWS has followed, which takes some minutes at most.",
            limit=COMPANY_CONCURRENCY,
            reset=QUOTA_SECONDS,
        )


def _secret_key(queue_id: str) -> table.Key:
    return "SECRET#" + queue_id, "SECRET"
