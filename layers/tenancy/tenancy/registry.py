"""What the service knows about keys, users and queues. The only way to a queue's URL."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tenancy import table
from tenancy.errors import AlreadyExists, NotFound, PurgeInProgress, RequestInProgress
from tenancy.table import ConditionFailed, Item, Write

PURGE_SECONDS = 60
"""How long a purge takes, and how long SQS refuses the next one."""

_CREATING_SECONDS = 30
"""A queue that is still being made after this long is left over from a function that died: none runs longer."""


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
    large: bool = False
    """Whether it may hold messages above the size of which ten fit into one answer."""
    url: str = ""
    dlq_url: str | None = None

    @property
    def fifo(self) -> bool:
        return self.type == "fifo"


def look_up(key_hash: str, user_id: str | None, queue_id: str | None) -> tuple[Key | None, User | None, Queue | None]:
    """Key, user and queue in one read; None for what was not asked for, does not exist or is not in use."""
    keys = [("KEY#" + key_hash, "KEY")]
    if user_id is not None:
        keys.append(_user_key(user_id))
    if queue_id is not None:
        keys.append(_queue_key(queue_id))
    items = table.read(keys)
    key = items.get(keys[0])
    user = items.get(_user_key(user_id)) if user_id is not None else None
    queue = items.get(_queue_key(queue_id)) if queue_id is not None else None
    return (
        None
        if key is None or key["revoked"]
        else Key(key["id"], key["company"], key["default_user"], key.get("sealed_user")),
        None if user is None or user["status"] != "active" else User(user["id"], user["company"]),
        None if queue is None else _active(queue),
    )


def reserve_queue(queue: Queue) -> None:
    """Take the queue's name and write its record as being made.

    Raises AlreadyExists, RequestInProgress while another request makes a queue of that name, NotFound when the user is
    being deleted. A reservation that was never finished is taken over and left to the reconciler.
    """
    try:
        table.transact(_reservation(queue, table.put(_name_item(queue))))
    except ConditionFailed:
        stale = _unfinished(queue)
        try:
            table.transact(
                [
                    *_reservation(
                        queue,
                        table.put(_name_item(queue), condition="queue_id = :stale", stale=stale["id"]),
                    ),
                    _mark_deleting(stale["id"], "creating"),
                ]
            )
        except ConditionFailed as taken:
            raise _in_progress() from taken


def activate_queue(queue: Queue, url: str, dlq_url: str | None) -> None:
    """Put a queue into use. Raises RequestInProgress when it took so long that another request took the name over."""
    try:
        table.update(
            _queue_key(queue.id),
            "SET #state = :active, #url = :url, dlq_url = :dlq_url REMOVE due, due_at",
            condition="#state = :creating",
            values={"active": "active", "creating": "creating", "url": url, "dlq_url": dlq_url},
        )
    except ConditionFailed as overtaken:
        raise _in_progress() from overtaken


def list_queues(user: str, *, after: str, limit: int) -> tuple[list[Queue], str | None]:
    """Up to `limit` queues by name, starting behind the name `after`, and the name to go on from (None at the end)."""
    names = table.query(_user_key(user)[0], "QUEUE_NAME#", after=after, limit=limit + 1)
    page = names[:limit]
    more = page[-1]["name"] if len(names) > limit else None
    return _queues([item["queue_id"] for item in page]), more


def named_queue(user: str, name: str) -> list[Queue]:
    """The queue of that name, or nothing."""
    key = _name_key(user, name)
    holder = table.read([key]).get(key)
    return _queues([holder["queue_id"]]) if holder else []


def change_queue(queue: Queue, settings: dict[str, int]) -> None:
    """Store new settings. Raises NotFound when the queue is being destroyed meanwhile."""
    _update_active(
        queue,
        "SET " + ", ".join(f"#{name} = :{name}" for name in settings),
        **settings,
    )


def mark_large(queue: Queue) -> None:
    """Remember that the queue may hold large messages, before the first of them is sent."""
    _update_active(queue, "SET #large = :large", large=True)


def start_purge(queue: Queue, which: Literal["purged_at", "dlq_purged_at"]) -> int:
    """Note that a purge starts; the answer is when, in seconds since 1970. Raises PurgeInProgress within a minute."""
    now = int(time.time())
    try:
        table.update(
            _queue_key(queue.id),
            f"SET {which} = :now",
            condition=f"#state = :active AND (attribute_not_exists({which}) OR {which} <= :before)",
            values={"now": now, "before": now - PURGE_SECONDS, "active": "active"},
        )
    except ConditionFailed as failed:
        item = table.read([_queue_key(queue.id)]).get(_queue_key(queue.id))
        if item is None or _active(item) is None:
            raise NotFound("no such queue") from failed
        left = max(1, item[which] + PURGE_SECONDS - now)
        raise PurgeInProgress(f"the last purge was less than {PURGE_SECONDS} s ago", retry_after=left) from failed
    return now


def undo_purge(queue: Queue, which: Literal["purged_at", "dlq_purged_at"], started: int) -> None:
    """Forget a purge that did not start after all."""
    table.update(_queue_key(queue.id), f"REMOVE {which}", condition=f"{which} = :started", values={"started": started})


def retire_queue(queue: Queue) -> None:
    """Free the queue's name and mark it as being destroyed: from here on it exists for nobody. Raises NotFound."""
    try:
        table.transact(
            [
                table.remove(_name_key(queue.user, queue.name), condition="queue_id = :id", id=queue.id),
                _mark_deleting(queue.id, "active"),
            ]
        )
    except ConditionFailed as gone:
        raise NotFound("no such queue") from gone


def forget_queue(queue: Queue) -> None:
    """Remove the record of a queue that is no more in SQS."""
    table.delete(_queue_key(queue.id))


def _reservation(queue: Queue, name: Write) -> list[Write]:
    return [
        name,
        table.put(
            {
                "pk": _queue_key(queue.id)[0],
                "sk": _queue_key(queue.id)[1],
                "state": "creating",
                "due": "creating",
                "due_at": int(queue.created_at) + _CREATING_SECONDS,
                **{field: getattr(queue, field) for field in _STORED},
                "created_at": str(queue.created_at),
            }
        ),
        table.check(_user_key(queue.user), "#status = :active", active="active"),
    ]


def _name_item(queue: Queue) -> Item:
    pk, sk = _name_key(queue.user, queue.name)
    return {"pk": pk, "sk": sk, "name": queue.name, "queue_id": queue.id}


def _unfinished(queue: Queue) -> Item:
    """The record of the stale reservation that holds the queue's name; raises what else can be the matter."""
    name_key, user_key = _name_key(queue.user, queue.name), _user_key(queue.user)
    items = table.read([name_key, user_key])
    if items.get(user_key, {}).get("status") != "active":
        raise NotFound("no such user")
    holder_id = items.get(name_key, {}).get("queue_id")
    holder = table.read([_queue_key(holder_id)]).get(_queue_key(holder_id)) if holder_id else None
    if holder is None:
        raise _in_progress()
    if holder["state"] == "active":
        raise AlreadyExists(f"you have a queue named {queue.name!r}", id=holder_id)
    if holder["due_at"] > time.time():
        raise _in_progress()
    return holder


def _in_progress() -> RequestInProgress:
    return RequestInProgress("another request is making a queue of this name", retry_after=_CREATING_SECONDS)


def _mark_deleting(queue_id: str, state: str) -> Write:
    return table.change(
        _queue_key(queue_id),
        "SET #state = :deleting, due = :deleting, due_at = :now",
        condition="#state = :state",
        deleting="deleting",
        now=int(time.time()),
        state=state,
    )


def _update_active(queue: Queue, change: str, **values: Any) -> None:
    try:
        table.update(_queue_key(queue.id), change, condition="#state = :active", values={"active": "active", **values})
    except ConditionFailed as gone:
        raise NotFound("no such queue") from gone


def _queues(ids: Sequence[str]) -> list[Queue]:
    """The queues in use among `ids`, in that order."""
    items = table.read([_queue_key(queue_id) for queue_id in ids]) if ids else {}
    queues = [_active(items[key]) for key in map(_queue_key, ids) if key in items]
    return [queue for queue in queues if queue is not None]


_STORED = (
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


def _active(item: Item) -> Queue | None:
    if item["state"] != "active":
        return None
    stored: dict[str, Any] = {field: item.get(field) for field in _STORED}
    return Queue(
        **stored,
        created_at=float(item["created_at"]),
        large=item.get("large", False),
        url=item["url"],
        dlq_url=item.get("dlq_url"),
    )


def _user_key(user_id: str) -> table.Key:
    return "USER#" + user_id, "USER"


def _queue_key(queue_id: str) -> table.Key:
    return "QUEUE#" + queue_id, "QUEUE"


def _name_key(user_id: str, name: str) -> table.Key:
    return "USER#" + user_id, "QUEUE_NAME#" + name
