"""A compute service as its owner sees it."""

from typing import Literal, TypedDict

from tenancy.fleet import Counts, Status
from tenancy.names import timestamp
from tenancy.registry import Service


class ServiceView(TypedDict):
    """A service as its owner sees it."""

    id: str
    name: str
    type: Literal["service"]
    image: str
    command: list[str]
    cpu: int
    memory: int
    queue_id: str | None
    desired: int
    running: int
    status: Status
    last_scaled_at: str | None
    last_scale_reason: str | None
    created_at: str


def view(service: Service, counts: Counts) -> ServiceView:
    """The service as its owner sees it."""
    return {
        "id": service.id,
        "name": service.name,
        "type": "service",
        "image": service.image,
        "command": list(service.command),
        "cpu": service.cpu,
        "memory": service.memory,
        "queue_id": service.queue_id,
        "desired": counts.desired,
        "running": counts.running,
        "status": counts.status,
        "last_scaled_at": None if service.last_scaled_at is None else timestamp(service.last_scaled_at),
        "last_scale_reason": service.last_scale_reason,
        "created_at": timestamp(service.created_at),
    }
