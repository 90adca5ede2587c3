"""GET /v1/queue/{id}: one queue, with its counts."""

from tenancy import queues
from tenancy.endpoint import Request, endpoint
from tenancy.models import Nothing
from tenancy.queues import QueueCounts, QueueView


class QueueWithCounts(QueueView):
    attributes: QueueCounts


@endpoint(fresh=True)
def handler(request: Request[Nothing]) -> QueueWithCounts:
    return {**queues.view(request.queue), "attributes": queues.counts(request.queue)}
