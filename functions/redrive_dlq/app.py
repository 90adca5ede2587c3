"""POST /v1/queue/{id}/redrive: move dead letters back into their queue."""

from typing import Annotated

from pydantic import Field

from tenancy import dlq
from tenancy.dlq import Redriven
from tenancy.endpoint import Request, endpoint
from tenancy.errors import Conflict, InvalidInput
from tenancy.models import Input

MessageId = Annotated[
    str, Field(min_length=1, max_length=100, description="the message_id of a dead letter, 1 to 100 characters")
]


class Redrive(Input):
    max: Annotated[int, Field(ge=1, le=1000)] | None = None
    message_ids: Annotated[list[MessageId], Field(min_length=1, max_length=100)] | None = None


@endpoint(body=Redrive, audited=True, errors=(Conflict,))
def handler(request: Request[Redrive]) -> Redriven:
    asked = request.input
    if asked.max is not None and asked.message_ids is not None:
        raise InvalidInput("give max or message_ids, not both", field="message_ids")
    most = len(asked.message_ids) if asked.message_ids else asked.max or 100
    return dlq.redrive(request.queue, most=most, message_ids=asked.message_ids, deadline=request.deadline)
