"""A compute service: made, started, stopped, scaled and destroyed.

How many tasks it has, ECS knows; its record only says why that was changed last. One that is the consumer of a queue is
scaled by that.
"""

import time
from contextlib import suppress
from dataclasses import replace

from tenancy import consumers, fleet, keys, parameters, registry, roles, services
from tenancy.errors import Conflict, NotFound
from tenancy.registry import Queue, Service
from tenancy.services import Leftover
from tenancy.telemetry import log_unhandled
from tenancy.views import ServiceView, view


def create(asked: Service, default_user: str) -> ServiceView:
    """Make the service with a key of its own, as the consumer of its queue if it has one.

    Raises AlreadyExists and what else a name can meet, NotFound and Conflict for the queue, InvalidInput where no
    services run.
    """
    fleet.require()
    queue = None if asked.queue_id is None else _free_queue(asked, asked.queue_id)
    key, writes = keys.new_key(asked.company, default_user, f"service:{asked.name}", asked.user)
    service = replace(asked, key_id=key["key_id"])
    if queue is None:
        service = replace(service, last_scaled_at=int(service.created_at), last_scale_reason="created")
    services.reserve(service, writes)
    try:
        roles.task_role(service.company, service.user)
        parameters.keep_key(service, key["api_key"])
        counts = fleet.create(service, 1 if queue is None else 0)
        if queue is not None:
            consumers.create(queue, {"type": "service", "service_id": service.id})
        services.activate(service)
    except Exception:
        _abandon(service)
        raise
    return view(service, counts) if queue is None else _shown(service)


def start(service: Service) -> ServiceView:
    """Let the service run again: one task, or as many as its queue needs, of its image as it is now."""
    counts, queue = fleet.counts(service), _queue_of(service)
    if counts.desired == 0 or counts.failing:
        fleet.renew(service)
    if queue is not None:
        consumers.change(queue, {"paused": False})
        return _shown(service)
    return view(service, counts) if counts.desired else _scaled(service, 1, "started")


def stop(service: Service) -> ServiceView:
    """Let the service have no tasks until it is started."""
    queue = _queue_of(service)
    if queue is None:
        return _scaled(service, 0, "stopped")
    consumers.change(queue, {"paused": True})
    return _shown(service)


def scale(service: Service, count: int) -> ServiceView:
    """Let the service have so many tasks. Raises Conflict for one that its queue scales."""
    if _queue_of(service) is not None:
        raise Conflict(
            "the service is scaled by its queue",
            hint="Change min and max of the queue's consumer, or remove the consumer.",
            reason="scaled_by_queue",
        )
    return _scaled(service, count, "scaled")


def destroy(service: Service) -> None:
    """Take the service out of use, then remove all that it has; what fails of that is left to the reconciler."""
    services.retire(service)
    try:
        _remove(service)
    except Exception as fault:
        log_unhandled(fault)  # And no more: for its owner the service is gone.


def clean_up(left: Leftover) -> bool:
    """Finish a change that was left half done, else remove what is left of the service; whether all of it is done.

    Raises NotFound when somebody else has gone on with it meanwhile.
    """
    if left.state == "active":
        fleet.deploy(left.service)
        return True
    if left.state == "creating":
        services.retire(left.service, "creating")
    _remove(left.service)
    return True


def _free_queue(asked: Service, queue_id: str) -> Queue:
    queue = registry.find_queue(asked.user, queue_id)
    if queue.consumer is not None:
        services.holder(asked)  # Which is said first: the service that is asked for may be there already.
        raise Conflict("the queue has a consumer already", hint="Remove it first.", reason="consumer_exists")
    return queue


def _abandon(service: Service) -> None:
    """Undo what was made of a service; it may be what went wrong that makes this fail as well."""
    try:
        services.retire(service, "creating")
        _remove(service)
    except NotFound:
        return  # Another request has taken the name over, and left the rest to the reconciler.
    except Exception as fault:
        log_unhandled(fault)  # And no more: the reconciler goes on.


def _queue_of(service: Service) -> Queue | None:
    """The queue that the service is the consumer of."""
    if service.queue_id is None:
        return None
    try:
        queue = registry.find_queue(service.user, service.queue_id)
    except NotFound:
        return None
    return queue if queue.consumer is not None and queue.consumer.get("service_id") == service.id else None


def _shown(service: Service) -> ServiceView:
    """The service as it is after its queue's consumer was made or changed."""
    return view(services.find(service.user, service.id), fleet.counts(service))


def _scaled(service: Service, count: int, reason: str) -> ServiceView:
    now = int(time.time())
    counts = fleet.set_desired(service, count)
    services.scaled(service.id, reason, now)
    return view(replace(service, last_scaled_at=now, last_scale_reason=reason), counts)


def _remove(service: Service) -> None:
    queue = _queue_of(service)
    if queue is not None:
        with suppress(NotFound):
            consumers.remove(queue)
    fleet.remove(service)
    parameters.remove_key(service)
    keys.destroy(service.user, service.company, service.key_id)
    services.forget(service)
