"""POST /v1/queue/{id}/purge: delete every message."""

from tenancy import queues
from tenancy.endpoint import Request, endpoint
from tenancy.errors import PurgeInProgress
from tenancy.models import Nothing
from tenancy.queues import Purging


@endpoint(status=202, fresh=True, audited=True, errors=(PurgeInProgress,))
def handler(request: Request[Nothing]) -> Purging:
    return queues.purge(request.queue)
