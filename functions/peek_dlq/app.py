"""GET /v1/queue/{id}/dlq/messages: look at dead letters without taking them."""

from typing import Annotated, TypedDict

from pydantic import Field

from tenancy import dlq
from tenancy.endpoint import Request, endpoint
from tenancy.errors import Conflict
from tenancy.messages import SeenMessage
from tenancy.models import FromText, Input


class Look(Input):
    max: Annotated[int, Field(ge=1, le=10), FromText] = 10


class DeadLetters(TypedDict):
    messages: list[SeenMessage]


@endpoint(query=Look, errors=(Conflict,))
def handler(request: Request[Look]) -> DeadLetters:
    return {"messages": dlq.peek(request.queue, request.input.max)}
