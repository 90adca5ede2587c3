"""What the service knows about keys, users, queues and services. The only way to a queue's URL."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tenancy import table
from tenancy.errors import Conflict, NotFound, PurgeInProgress
from tenancy.names import NO_ID, is_id
from tenancy.table import ConditionFailed, Item

PURGE_SECONDS = 60
"""How long a purge takes, and how long SQS refuses the next one."""


@dataclass(frozen=True, slots=True)
class Key:
    """A bearer key, as far as it is stored."""

    id: str
    company: str
    default_user: str
    sealed_user: str | None


@dataclass(frozen=True, slots=True)
class User:
    """An end-user of a company; queues belong to one."""

    id: str
    company: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A queue of one user. Durations are seconds, created_at seconds since 1970."""

    id: str
    name: str
    type: Literal["standard", "fifo"]
    company: str
    user: str
    created_at: float
    visibility_timeout: int
    retention_seconds: int
    delay_seconds: int
    max_receive_count: int | None = None
    content_based_dedup: bool | None = None
    large_since: int | None = None
    """Since when it may hold messages of a size of which ten do not fit into one answer, in seconds since 1970."""
    url: str = ""
    dlq_url: str | None = None
    consumer: Mapping[str, Any] | None = None
    """Who works it off, as the consumers module stores it."""
    scaling: Mapping[str, Any] | None = None
    """How far its service is scaled, as the scaler stores it."""

    @property
    def fifo(self) -> bool:
        return self.type == "fifo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A compute service of one user: so many tasks of one container image. created_at is seconds since 1970."""

    id: str
    name: str
    company: str
    user: str
    created_at: float
    image: str
    command: Sequence[str]
    cpu: int
    memory: int
    env: Mapping[str, str]
    key_id: str = ""
    """The key that its tasks are given."""
    queue_id: str | None = None
    """The queue whose consumer it is."""
    last_scaled_at: int | None = None
    last_scale_reason: str | None = None


STORED = (
    "id",
    "name",
    "type",
    "company",
    "user",
    "visibility_timeout",
    "retention_seconds",
    "delay_seconds",
    "max_receive_count",
    "content_based_dedup",
)
"""The fields of a queue that its record holds under their own names."""

STORED_OF_SERVICES = ("id", "name", "company", "user", "image", "command", "cpu", "memory", "env", "key_id")
"""The fields of a service that its record holds under their own names, whatever becomes of it."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a request names; None for what it does not name, does not exist or is not in use."""

    key: Key | None
    user: User | None
    queue: Queue | None
    service: Service | None


def look_up(key_hash: str, user_id: str | None, queue_id: str | None, service_id: str | None) -> Found:
    """Key, user, queue and service in one read."""
    places = [
        ("KEY#" + key_hash, "KEY"),
        None if user_id is None else user_key(user_id),
        None if queue_id is None else queue_key(queue_id),
        None if service_id is None else service_key(service_id),
    ]
    items = table.read([place for place in places if place is not None])
    key, user, queue, service = (None if place is None else items.get(place) for place in places)
    return Found(
        None
        if key is None or key["revoked"]
        else Key(key["id"], key["company"], key["default_user"], key.get("sealed_user")),
        None if user is None or user["status"] != "active" else User(user["id"], user["company"]),
        None if queue is None else _active(queue),
        None if service is None or service["state"] != "active" else service_of(service),
    )


def is_user(user_id: str) -> bool:
    """Whether the user exists and is not being destroyed."""
    key = user_key(user_id)
    item = table.read([key]).get(key)
    return item is not None and item["status"] == "active"


def list_queues(user: str, *, after: str, limit: int) -> tuple[list[Queue], str | None]:
    """Up to `limit` queues by name, starting behind the name `after`, and the name to go on from (None at the end)."""
    names, more = table.page(user_key(user)[0], "QUEUE_NAME#", after=after, limit=limit)
    return _queues([item["queue_id"] for item in names]), more


def named_queue(user: str, name: str) -> list[Queue]:
    """The queue of that name, or nothing."""
    key = name_key(user, name)
    holder = table.read([key]).get(key)
    return _queues([holder["queue_id"]]) if holder else []


def find_queue(user: str, queue_id: str) -> Queue:
    """The user's queue of that id. Raises NotFound, also for one of another user and for what is no id."""
    found = _queues([queue_id if is_id(queue_id) else NO_ID])
    if not found or found[0].user != user:
        raise NotFound()
    return found[0]


def change_queue(queue: Queue, settings: dict[str, int]) -> None:
    """Store new settings.

    Raises NotFound when the queue is being destroyed meanwhile, Conflict when it got a consumer that needs more time.
    """
    condition = "#state = :active"
    if "visibility_timeout" in settings:
        condition += " AND (attribute_not_exists(consumer.#timeout) OR consumer.#timeout <= :visibility_timeout)"
    change = "SET " + ", ".join(f"#{name} = :{name}" for name in settings)
    try:
        table.update(queue_key(queue.id), change, condition=condition, values={"active": "active", **settings})
    except ConditionFailed as failed:
        item = table.read([queue_key(queue.id)]).get(queue_key(queue.id))
        now = None if item is None else _active(item)
        if now is None:
            raise NotFound() from failed
        require_time(now, settings["visibility_timeout"])
        change_queue(now, settings)  # The consumer is gone again.


def require_time(queue: Queue, visibility: int) -> None:
    """Raise Conflict when messages that are hidden for so many seconds would come back while the consumer has them."""
    if queue.consumer is not None and visibility < (needed := queue.consumer.get("timeout", 0)):
        raise visibility_too_short(needed)


def visibility_too_short(needed: int) -> Conflict:
    """The refusal of a consumer that works on messages for longer than they are hidden."""
    return Conflict(
        f"the consumer may work for {needed} s, so the queue's visibility_timeout must be at least {needed}",
        hint="Change the queue's visibility_timeout first; six times as much leaves room for retries.",
        reason="visibility_too_short",
        visibility_timeout=needed,
    )


def mark_large(queue: Queue) -> int:
    """Note that the queue is about to get large messages; the answer is since when. Raises NotFound."""
    changed = _update_active(queue, "SET large_since = if_not_exists(large_since, :now)", now=math.ceil(time.time()))
    return int(changed["large_since"])


def start_purge(queue: Queue, which: Literal["purged_at", "dlq_purged_at"]) -> int:
    """Note that a purge starts; the answer is when, in seconds since 1970. Raises PurgeInProgress within a minute."""
    now = int(time.time())
    try:
        table.update(
            queue_key(queue.id),
            f"SET {which} = :now",
            condition=f"#state = :active AND (attribute_not_exists({which}) OR {which} <= :before)",
            values={"now": now, "before": now - PURGE_SECONDS, "active": "active"},
        )
    except ConditionFailed as failed:
        item = table.read([queue_key(queue.id)]).get(queue_key(queue.id))
        if item is None or _active(item) is None:
            raise NotFound() from failed
        left = max(1, item[which] + PURGE_SECONDS - now)
        raise PurgeInProgress(f"the last purge was less than {PURGE_SECONDS} s ago", retry_after=left) from failed
    return now


def undo_purge(queue: Queue, which: Literal["purged_at", "dlq_purged_at"], started: int) -> None:
    """Forget a purge that did not start after all."""
    table.update(queue_key(queue.id), f"REMOVE {which}", condition=f"{which} = :started", values={"started": started})


def queue_of(item: Item) -> Queue:
    """The queue that a record describes, in use or not; one that was never finished has no url."""
    stored: dict[str, Any] = {field: item.get(field) for field in STORED}
    return Queue(
        **stored,
        created_at=float(item["created_at"]),
        large_since=item.get("large_since"),
        url=item.get("url", ""),
        dlq_url=item.get("dlq_url"),
        consumer=item.get("consumer"),
        scaling=item.get("scaling"),
    )


def company_key(company_id: str) -> table.Key:
    """Where a company's record is."""
    return "COMPANY#" + company_id, "COMPANY"


def service_of(item: Item) -> Service:
    """The service that a record describes, in use or not."""
    return Service(
        **{field: item[field] for field in STORED_OF_SERVICES},
        created_at=float(item["created_at"]),
        queue_id=item.get("queue_id"),
        last_scaled_at=item.get("last_scaled_at"),
        last_scale_reason=item.get("last_scale_reason"),
    )


def user_key(user_id: str) -> table.Key:
    """Where a user's record is."""
    return "USER#" + user_id, "USER"


def queue_key(queue_id: str) -> table.Key:
    """Where a queue's record is."""
    return "QUEUE#" + queue_id, "QUEUE"


def service_key(service_id: str) -> table.Key:
    """Where a service's record is."""
    return "SERVICE#" + service_id, "SERVICE"


def name_key(user_id: str, name: str) -> table.Key:
    """What holds a queue's name for its user."""
    return "USER#" + user_id, "QUEUE_NAME#" + name


def _update_active(queue: Queue, change: str, **values: Any) -> Item:
    try:
        return table.update(
            queue_key(queue.id), change, condition="#state = :active", values={"active": "active", **values}
        )
    except ConditionFailed as gone:
        raise NotFound() from gone


def _queues(ids: Sequence[str]) -> list[Queue]:
    """The queues in use among `ids`, in that order."""
    items = table.read([queue_key(queue_id) for queue_id in ids]) if ids else {}
    queues = [_active(items[key]) for key in map(queue_key, ids) if key in items]
    return [queue for queue in queues if queue is not None]


def _active(item: Item) -> Queue | None:
    return queue_of(item) if item["state"] == "active" else None
