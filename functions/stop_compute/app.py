"""POST /v1/compute/{service_id}/stop: let a service have no tasks until it is started."""

from tenancy import compute
from tenancy.endpoint import Request, endpoint
from tenancy.models import Nothing
from tenancy.views import ServiceView


@endpoint(fresh=True, audited=True)
def handler(request: Request[Nothing]) -> ServiceView:
    return compute.stop(request.service)
