"""DELETE /v1/queue/{id}: destroy a queue and its dead letters."""

from tenancy import queues
from tenancy.endpoint import Request, endpoint
from tenancy.models import Nothing


@endpoint(status=204, fresh=True, audited=True)
def handler(request: Request[Nothing]) -> None:
    queues.destroy(request.queue)
