"""DELETE /v1/compute/{service_id}: destroy a service, its tasks and its key."""

from tenancy import compute
from tenancy.endpoint import Request, endpoint
from tenancy.models import Nothing


@endpoint(status=204, fresh=True, audited=True)
def handler(request: Request[Nothing]) -> None:
    compute.destroy(request.service)
