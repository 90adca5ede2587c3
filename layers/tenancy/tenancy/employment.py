"""STAND-IN of this clone alone, for what another engineer builds: a service as the consumer of a queue."""

from tenancy import services, table
from tenancy.errors import Conflict
from tenancy.services import Service
from tenancy.table import Write


def begin(service: Service, queue_id: str) -> Write:
    if service.queue_id is not None:
        raise Conflict("the service is the consumer of another queue", reason="scaled_by_queue")
    return table.change(
        ("SERVICE#" + service.id, "SERVICE"),
        "SET queue_id = :queue",
        condition="#state = :active AND attribute_not_exists(queue_id)",
        queue=queue_id,
        active="active",
    )


def end(service_id: str, queue_id: str) -> list[Write]:
    item = services.read(service_id)
    if item is None or item.get("queue_id") != queue_id:
        return []
    place = "SERVICE#" + service_id, "SERVICE"
    return [table.change(place, "REMOVE queue_id", condition="queue_id = :queue", queue=queue_id)]
