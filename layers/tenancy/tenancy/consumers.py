"""Who works a queue off by itself: a function, a webhook or a service; set, shown, changed and removed.

What is wanted is written down first. Then AWS is asked once to follow; what it does not do then, the reconciler does.
"""

import base64
import time
from collections.abc import Mapping
from dataclasses import replace
from secrets import token_bytes
from typing import Any, Literal, TypedDict

from tenancy import addresses, arrangements, engagements, lambdas, mappings, registry, scaler, services
from tenancy.engagements import claim, is_busy, without
from tenancy.errors import Conflict, InvalidInput, NotFound
from tenancy.mappings import Busy
from tenancy.names import timestamp
from tenancy.registry import Queue, queue_of
from tenancy.table import ConditionFailed, Item, Write

WEBHOOK_SECONDS = 20
"""How long the function that delivers to webhooks may work on a message."""

type Settings = Mapping[str, Any]
"""The fields of a consumer that are given, as on the wire."""


class _Fed(TypedDict):
    """What a consumer that is fed by Lambda has."""

    batch_size: int
    max_concurrency: int
    paused: bool
    created_at: str


class FunctionConsumer(_Fed):
    """A Lambda function as the consumer of a queue."""

    type: Literal["function"]
    function: str


class WebhookConsumer(_Fed):
    """A webhook as the consumer of a queue."""

    type: Literal["webhook"]
    url: str


class NewWebhookConsumer(WebhookConsumer):
    """A webhook with the secret that its deliveries are signed with, which is shown once."""

    secret: str


class ServiceConsumer(TypedDict):
    """A compute service as the consumer of a queue."""

    type: Literal["service"]
    service_id: str
    min: int
    max: int
    messages_per_worker: int
    idle_seconds: int
    paused: bool
    created_at: str


ConsumerView = FunctionConsumer | WebhookConsumer | ServiceConsumer
NewConsumer = FunctionConsumer | NewWebhookConsumer | ServiceConsumer


def view(queue: Queue) -> ConsumerView:
    """The consumer as the queue's owner sees it. Raises NotFound when there is none."""
    if queue.consumer is None:
        raise _none()
    return _view(queue.consumer)


def create(queue: Queue, settings: Settings, *, allow_loopback: bool = False) -> NewConsumer:
    """Give the queue a consumer.

    Raises InvalidInput for what it cannot be, NotFound for a service that is not the owner's, Conflict when the queue
    has one or does not hide messages for long enough, RateLimited when the company has no concurrency left.
    """
    _require_fields(settings["type"], settings)
    if queue.consumer is not None:
        raise _second()
    consumer = _made(queue, settings, allow_loopback)
    secret = f"whsec_{base64.b64encode(token_bytes(32)).decode()}"

    def add(item: Item) -> tuple[Item, list[Write]]:
        if "consumer" in item:
            raise _second()
        registry.require_time(replace(queue_of(item), consumer=consumer), item["visibility_timeout"])
        wanted = {**item, "consumer": consumer} | ({"scaling": scaler.first()} if consumer["type"] == "service" else {})
        # What was made for another one is undone first, by the reconciler, and nobody is to be disturbed.
        if arrangements.is_free_for(item, consumer) and not is_busy(item):
            wanted |= {"mapping": arrangements.mapping(consumer), **claim()}
            engagements.keep_booked(wanted, item)
        return wanted, engagements.holding(queue, consumer, secret)

    done = engagements.write(queue, add)
    if done.claimed:
        try:
            arrangements.arrange(done.after, mappings.make)
        except (Busy, ConditionFailed):
            pass  # The reconciler goes on.
        except Exception as fault:
            engagements.take_back(done.after, made=not isinstance(fault, InvalidInput | Conflict))
            raise
    shown: Any = _view(consumer) | ({"secret": secret} if consumer["type"] == "webhook" else {})
    made: NewConsumer = shown
    return made


def change(queue: Queue, settings: Settings) -> ConsumerView:
    """Change numbers of the queue's consumer, pause or resume it. Raises NotFound when it has none, and as create."""

    def alter(item: Item) -> tuple[Item, list[Write]]:
        if "consumer" not in item:
            raise _none()
        _require_fields(item["consumer"]["type"], settings)
        wanted = {**item, "consumer": {**item["consumer"], **settings}}
        _require_order(wanted["consumer"])
        engagements.keep_booked(wanted, item)
        return wanted if "due" in item else wanted | claim(), []

    done = engagements.write(queue, alter)
    with arrangements.trying():
        if done.claimed:
            arrangements.arrange(done.after, mappings.change)
        elif done.after["due"] == "service":
            scaler.changed(queue_of(done.after))
    return _view(done.after["consumer"])


def remove(queue: Queue) -> None:
    """Take the queue's consumer away; its messages stay. Raises NotFound when it has none."""

    def drop(item: Item) -> tuple[Item, list[Write]]:
        if "consumer" not in item:
            raise _none()
        left = without(item, "consumer", "scaling")
        return left if item.get("due") == "consumer" else left | claim(), engagements.freed(item)

    done = engagements.write(queue, drop)
    if done.claimed:
        with arrangements.trying():
            arrangements.undo(done.after)


_FIELDS = {
    "function": ("function", "batch_size", "max_concurrency"),
    "webhook": ("url", "batch_size", "max_concurrency"),
    "service": ("service_id", "min", "max", "messages_per_worker", "idle_seconds"),
}
"""What each type has besides `type`, `paused` and `created_at`; the first one has no default."""


def _view(consumer: Mapping[str, Any]) -> ConsumerView:
    shown: Any = {name: consumer[name] for name in ("type", *_FIELDS[consumer["type"]], "paused")}
    shown["created_at"] = timestamp(float(consumer["created_at"]))
    view: ConsumerView = shown
    return view


def _require_fields(kind: str, settings: Settings) -> None:
    for name in settings:
        if name not in (*_FIELDS[kind], "type", "paused"):
            kinds = " and ".join(other for other, names in _FIELDS.items() if name in names)
            raise InvalidInput(f"{name} is for {kinds} consumers, not for a {kind} one", field=name)
    needed, *_ = _FIELDS[kind]
    if "type" in settings and needed not in settings:
        raise InvalidInput(f"{needed} is required for a {kind} consumer", field=needed)


def _require_order(consumer: Mapping[str, Any]) -> None:
    if consumer["type"] == "service" and consumer["min"] > consumer["max"]:
        raise InvalidInput(f"min must be at most max, {consumer['max']}, not {consumer['min']}", field="min")


def _made(queue: Queue, settings: Settings, allow_loopback: bool) -> Item:
    """The consumer that is asked for, with what has to be known of it later."""
    defaults: Item = {"batch_size": 1 if queue.fifo else 10, "max_concurrency": 10}
    known: Item = {}
    match settings["type"]:
        case "function":
            function = lambdas.find(queue.company, settings["function"])
            known = {"role": function.role, "timeout": function.timeout}
        case "webhook":
            endpoint = addresses.parse(settings["url"], allow_loopback=allow_loopback)
            addresses.resolve(endpoint, allow_loopback=allow_loopback)
            known = {"timeout": WEBHOOK_SECONDS}
        case "service":
            defaults = {"min": 0, "max": 10, "messages_per_worker": 10, "idle_seconds": 60}
            _require_order({**defaults, **settings})
            known = {"key_id": services.find(queue.user, settings["service_id"]).key_id}
    return {**defaults, **settings, "paused": False, "created_at": str(time.time()), **known}


def _second() -> Conflict:
    return Conflict(
        "this queue has a consumer",
        hint="Change it by PATCH, or remove it first.",
        reason="consumer_exists",
    )


def _none() -> NotFound:
    return NotFound("this queue has no consumer", hint="Give it one by POST.")
