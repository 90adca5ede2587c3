"""A queue's service in the hands of its scaler, which alone changes how many workers it has.

What a look at the queue leads to, scaling says; here it is carried out. Whoever loses the write of a look begins anew.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from random import randrange
from secrets import token_hex

from tenancy import alarms, fleet, queues, scaling, services, table, ticks
from tenancy.aws import CALL_SECONDS
from tenancy.errors import NotFound, Unavailable
from tenancy.registry import Queue, Service, queue_key, service_of
from tenancy.scaling import (
    ACT_SECONDS,
    SURE_SECONDS,
    Consumer,
    Depth,
    Effect,
    Event,
    SendTick,
    SetDesired,
    State,
    Tick,
    Write,
)
from tenancy.table import ConditionFailed, Item
from tenancy.telemetry import audit
from tenancy.ticks import Look, Rest

_TRIES = 5
_AT_A_TIME = 100
_ORDERED = ("created", "started", "stopped", "scaled")
"""Why a service has the count that its owner has ordered."""


def first() -> Item:
    """What is stored of a queue that has just got a service: asleep, whatever count the service had before."""
    now = int(time.time())
    return State(tick=Tick(now, token_hex(8)), reason="a queue's consumer", scaled_at=now, sure=False).stored()


def attach(queue: Queue, service_id: str) -> None:
    """Begin to scale the service that is the queue's consumer, and tell its tasks of the queue if they are not yet."""
    alarms.put(queue)
    for left in services.untold(service_id):
        fleet.deploy(left)
    look(queue.id, "changed")


def changed(queue: Queue) -> None:
    """Go by what the owner has set now."""
    look(queue.id, "changed")


def detach(queue: Queue, service_id: str) -> None:
    """Let a service that is the queue's consumer no more go to 0, and nobody look at the queue.

    Whoever looked before that was known may be about to set another count. So the same is done again a while later.
    """
    alarms.delete(queue)
    now = int(time.time())
    rest(service_id, now)
    ticks.send(Rest(service_id, now), SURE_SECONDS)


def rest(service_id: str, since: int) -> None:
    """Let a service go to 0, unless its owner has ordered otherwise or has given it to a queue since then."""
    item = services.read(service_id)
    if item is None or item["state"] == "deleting" or item.get("queue_id") is not None:
        return
    if item.get("last_scale_reason") in _ORDERED and item["last_scaled_at"] >= since:
        return
    _set_desired(service_of(item), 0, "no queue's consumer", int(time.time()))


def look(queue_id: str, event: Event) -> bool:
    """Look at a queue, if the event asks for that, and do what follows; whether there was anything to do."""
    latest = time.monotonic() + ACT_SECONDS - CALL_SECONDS
    for _ in range(_TRIES):
        item = table.read([queue_key(queue_id)]).get(queue_key(queue_id))
        if item is None or item["state"] != "active" or "scaling" not in item:
            return False
        state, now = State.read(item["scaling"]), int(time.time())
        if not scaling.applies(event, state, Consumer.read(item["consumer"]), now):
            return False
        depth = Depth(*queues.counts_of(item["url"]))
        if isinstance(event, Tick) and not state.protected and scaling.spares(state, depth):
            state = replace(state, protected=_protects(item["consumer"]["service_id"]))
        consumer = Consumer.read(item["consumer"], protected=state.protected)
        effects = scaling.look(event, state, consumer, depth, now, token_hex(8))
        with suppress(ConditionFailed):  # Then somebody else has looked meanwhile.
            _carry_out(effects, item, state, latest)
            return bool(effects)
    raise Unavailable("others look at this queue all the time")


def neglected(deadline: float) -> Iterator[tuple[str, int]]:
    """The ids of queues whose service sleeps, or at which nobody looks any more; and since when (seconds since 1970).

    From anywhere on, so that it is not always the same ones for which no time is left. Time ends at `deadline`
    (monotonic).
    """
    keys = table.all_due("service")
    start = randrange(len(keys)) if keys else 0
    keys = keys[start:] + keys[:start]
    for position in range(0, len(keys), _AT_A_TIME):
        if time.monotonic() + CALL_SECONDS > deadline:
            return
        for item in table.read(keys[position : position + _AT_A_TIME]).values():
            if item["state"] == "active" and "scaling" in item:
                state, now = State.read(item["scaling"]), int(time.time())
                if scaling.applies("look", state, Consumer.read(item["consumer"]), now):
                    yield item["id"], state.look_at or now


def _carry_out(effects: Sequence[Effect], item: Item, state: State, latest: float) -> None:
    for effect in effects:
        if time.monotonic() > latest:
            raise Unavailable("looking at the queue took too long")  # By now nobody reckons with it any more.
        match effect:
            case SendTick(tick, delay):
                ticks.send(Look(item["id"], tick), delay)
            case Write(state, seen):
                _write(item, state, seen)
            case SetDesired(count):
                _scale(item["consumer"]["service_id"], count, state)


def _write(item: Item, state: State, seen: Tick) -> None:
    """Replace what is stored of looks. Raises ConditionFailed unless the record is as it was seen."""
    table.update(
        queue_key(item["id"]),
        "SET scaling = :scaling",
        condition="#state = :active AND consumer = :consumer AND scaling.n = :n AND scaling.#token = :token",
        values={
            "scaling": state.stored(),
            "active": "active",
            "consumer": item["consumer"],
            "n": seen.n,
            "token": seen.token,
        },
    )


def _protects(service_id: str) -> bool:
    item = services.read(service_id)
    return item is not None and fleet.is_protected(service_of(item))


def _scale(service_id: str, count: int, state: State) -> None:
    item = services.read(service_id)
    if item is not None:
        _set_desired(service_of(item), count, state.reason, state.scaled_at)


def _set_desired(service: Service, count: int, reason: str, at: int) -> None:
    try:
        fleet.set_desired(service, count)
    except NotFound:
        return  # It is being destroyed.
    services.scaled(service.id, reason, at)
    audit(company=service.company, user=service.user, resource=service.id, desired=count, reason=reason)
