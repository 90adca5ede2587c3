"""A service as the consumer of a queue: on the service's record, in the transactions that change the queue's."""

import time
from contextlib import suppress

from tenancy import services, table
from tenancy.errors import Conflict
from tenancy.registry import Service, service_key
from tenancy.services import DUE, WORKING_SECONDS
from tenancy.table import ConditionFailed, Write


def begin(service: Service, queue_id: str) -> Write:
    """A write that makes a service the consumer of a queue. Raises Conflict when it is that of another one.

    Its tasks are to be told of a new queue: the record is due until fleet.deploy has seen to that.
    """
    place = service_key(service.id)
    if service.queue_id == queue_id:
        return table.check(place, "queue_id = :queue AND #state <> :deleting", queue=queue_id, deleting="deleting")
    if service.queue_id is not None:
        raise Conflict(
            "the service is the consumer of another queue",
            hint="Remove the consumer of that queue first, or make another service.",
            reason="scaled_by_queue",
        )
    return table.change(
        place,
        "SET queue_id = :queue, due = :due, due_at = :due_at",
        condition="#state = :active AND attribute_not_exists(queue_id)",
        queue=queue_id,
        active="active",
        due=DUE["active"],
        due_at=int(time.time()) + WORKING_SECONDS,
    )


def end(service_id: str, queue_id: str) -> list[Write]:
    """The writes that make a service nobody's consumer; none when it is not that queue's."""
    item = services.read(service_id)
    if item is None or item.get("queue_id") != queue_id:
        return []
    change = "REMOVE queue_id"
    if item["state"] == "active":
        change += ", due, due_at"  # There is no new queue any more that its tasks should be told of.
    condition = "queue_id = :queue AND #state = :state"
    return [table.change(service_key(service_id), change, condition=condition, queue=queue_id, state=item["state"])]


def told(service: Service) -> None:
    """Note that tasks which start from now on are told of the service's queue."""
    with suppress(ConditionFailed):  # Then it is another one's consumer by now, or is being destroyed.
        table.update(
            service_key(service.id),
            "REMOVE due, due_at",
            condition="due = :due AND queue_id = :queue",
            values={"due": DUE["active"], "queue": service.queue_id},
        )
