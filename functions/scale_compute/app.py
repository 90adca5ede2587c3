"""POST /v1/compute/{service_id}/scale: let a service without a queue have so many tasks."""

from typing import Annotated

from pydantic import Field

from tenancy import compute
from tenancy.endpoint import Request, endpoint
from tenancy.errors import Conflict
from tenancy.models import Input
from tenancy.views import ServiceView


class Scale(Input):
    count: Annotated[int, Field(ge=0, le=1000)]


@endpoint(body=Scale, fresh=True, audited=True, errors=(Conflict,))
def handler(request: Request[Scale]) -> ServiceView:
    return compute.scale(request.service, request.input.count)
