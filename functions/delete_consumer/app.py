"""DELETE /v1/queue/{id}/consumer: let nobody work the queue off by itself any more."""

from tenancy import consumers
from tenancy.endpoint import Request, endpoint
from tenancy.errors import RequestInProgress
from tenancy.models import Nothing


@endpoint(status=204, fresh=True, audited=True, errors=(RequestInProgress,))
def handler(request: Request[Nothing]) -> None:
    consumers.remove(request.queue)
