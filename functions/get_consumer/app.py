"""GET /v1/queue/{id}/consumer: who works the queue off."""

from tenancy import consumers
from tenancy.consumers import ConsumerView
from tenancy.endpoint import Request, endpoint
from tenancy.models import Nothing


@endpoint(fresh=True)
def handler(request: Request[Nothing]) -> ConsumerView:
    return consumers.view(request.queue)
