"""GET /v1/queue/{id}/attributes: how many messages a queue holds."""

from tenancy import queues
from tenancy.endpoint import Request, endpoint
from tenancy.models import Nothing
from tenancy.queues import QueueCounts


@endpoint()
def handler(request: Request[Nothing]) -> QueueCounts:
    return queues.counts(request.queue)
