"""DELETE /v1/queue/{id}: destroy a queue with its dead letters and its consumer."""

from tenancy import teardown
from tenancy.endpoint import Request, endpoint
from tenancy.errors import RequestInProgress
from tenancy.models import Nothing


@endpoint(status=204, fresh=True, audited=True, errors=(RequestInProgress,))
def handler(request: Request[Nothing]) -> None:
    teardown.destroy(request.queue)
