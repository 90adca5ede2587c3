"""GET /v1/queue/{id}/messages: lease messages, waiting for the first."""

from typing import Annotated

from pydantic import Field

from tenancy import leases
from tenancy.endpoint import Request, endpoint
from tenancy.errors import Conflict
from tenancy.leases import Received
from tenancy.models import MAX_VISIBILITY, FromText, Input


class Receive(Input):
    max: Annotated[int, Field(ge=1, le=10), FromText] = 1
    wait: Annotated[int, Field(ge=0, le=20), FromText] = 1
    visibility: Annotated[int, Field(ge=0, le=MAX_VISIBILITY), FromText] | None = None


@endpoint(query=Receive, errors=(Conflict,))
def handler(request: Request[Receive]) -> Received:
    asked = request.input
    messages = leases.receive(
        request.grant,
        request.renew,
        most=asked.max,
        wait=asked.wait,
        visibility=asked.visibility,
        deadline=request.deadline,
    )
    return {"messages": messages}
