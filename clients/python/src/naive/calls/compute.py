"""The calls about compute services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from naive.calls.call import Call, answer_as, given, nothing, segment, unique
from naive.calls.ids import QueueRef, ServiceRef, queue_id, service_id
from naive.models import LogPage, Service, ServicePage


def create_service(
    mount: str,
    name: str,
    type: str,
    image: str,
    command: Sequence[str] | None,
    cpu: int | None,
    memory: int | None,
    env: Mapping[str, str] | None,
    queue: QueueRef | None,
) -> Call[Service]:
    body = given(
        name=name,
        type=type,
        image=image,
        command=command,
        cpu=cpu,
        memory=memory,
        env=env,
        queue_id=None if queue is None else queue_id(queue, "queue_id"),
    )
    return Call("POST", f"{mount}/compute", answer_as(Service), body=body, idempotency_key=unique())


def list_services(mount: str, limit: int | None, cursor: str | None, name: str | None) -> Call[ServicePage]:
    query = given(limit=limit, cursor=cursor, name=name)
    return Call("GET", f"{mount}/compute", answer_as(ServicePage), query=query)


def get_service(mount: str, service: ServiceRef) -> Call[Service]:
    return Call("GET", _service(mount, service), answer_as(Service))


def start_service(mount: str, service: ServiceRef) -> Call[Service]:
    return Call("POST", f"{_service(mount, service)}/start", answer_as(Service))


def stop_service(mount: str, service: ServiceRef) -> Call[Service]:
    return Call("POST", f"{_service(mount, service)}/stop", answer_as(Service))


def scale_service(mount: str, service: ServiceRef, count: int) -> Call[Service]:
    return Call("POST", f"{_service(mount, service)}/scale", answer_as(Service), body={"count": count})


def service_logs(mount: str, service: ServiceRef, limit: int | None, cursor: str | None) -> Call[LogPage]:
    query = given(limit=limit, cursor=cursor)
    return Call("GET", f"{_service(mount, service)}/logs", answer_as(LogPage), query=query)


def destroy_service(mount: str, service: ServiceRef) -> Call[None]:
    return Call("DELETE", _service(mount, service), nothing, done_when_absent=True)


def _service(mount: str, service: ServiceRef) -> str:
    return f"{mount}/compute/{segment(service_id(service))}"
