"""POST /v1/queue/{id}/dlq/purge: delete every dead letter."""

from tenancy import queues
from tenancy.endpoint import Request, endpoint
from tenancy.errors import Conflict, PurgeInProgress
from tenancy.models import Nothing
from tenancy.queues import Purging


@endpoint(status=202, fresh=True, audited=True, errors=(Conflict, PurgeInProgress))
def handler(request: Request[Nothing]) -> Purging:
    return queues.purge_dlq(request.queue)
