"""PATCH /v1/queue/{id}: change settings."""

from dataclasses import replace

from tenancy import queues
from tenancy.endpoint import Request, endpoint
from tenancy.errors import Conflict, InvalidInput
from tenancy.models import Delay, Input, MaxReceiveCount, Retention, Visibility
from tenancy.queues import QueueView


class QueueChanges(Input):
    visibility_timeout: Visibility | None = None
    retention_seconds: Retention | None = None
    delay_seconds: Delay | None = None
    max_receive_count: MaxReceiveCount | None = None


@endpoint(body=QueueChanges, fresh=True, audited=True, errors=(Conflict,))
def handler(request: Request[QueueChanges]) -> QueueView:
    queue = request.queue
    settings = request.input.model_dump(exclude_none=True)
    if not settings:
        raise InvalidInput("give at least one of " + ", ".join(QueueChanges.model_fields))
    if "max_receive_count" in settings and queue.max_receive_count is None:
        raise InvalidInput("max_receive_count is for queues made with dlq true", field="max_receive_count")
    queues.change(queue, settings)
    return queues.view(replace(queue, **settings))
