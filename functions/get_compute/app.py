"""GET /v1/compute/{service_id}: one service, with how many tasks it has."""

from tenancy import fleet
from tenancy.endpoint import Request, endpoint
from tenancy.models import Nothing
from tenancy.views import ServiceView, view


@endpoint(fresh=True)
def handler(request: Request[Nothing]) -> ServiceView:
    return view(request.service, fleet.counts(request.service))
