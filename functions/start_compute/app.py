"""POST /v1/compute/{service_id}/start: let a service run, with its image as it is now."""

from tenancy import compute
from tenancy.endpoint import Request, endpoint
from tenancy.models import Nothing
from tenancy.views import ServiceView


@endpoint(fresh=True, audited=True)
def handler(request: Request[Nothing]) -> ServiceView:
    return compute.start(request.service)
