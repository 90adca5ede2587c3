"""POST /v1/queue/{id}/messages/settle: acknowledge, give back and extend many messages."""

from typing import Annotated, Any

from pydantic import Field

from tenancy import settlement
from tenancy.endpoint import Request, endpoint
from tenancy.errors import InvalidInput
from tenancy.models import Input
from tenancy.settlement import Settled

# Each entry is checked on its own, so that one bad one fails alone.
Entries = Annotated[list[Any], Field(max_length=100)]


class Settle(Input):
    ack: Entries | None = None
    retry: Entries | None = None
    extend: Entries | None = None


@endpoint(body=Settle)
def handler(request: Request[Settle]) -> dict[str, list[Settled]]:
    asked = request.input
    ack, retry, extend = asked.ack or [], asked.retry or [], asked.extend or []
    if not 1 <= len(ack) + len(retry) + len(extend) <= 100:
        raise InvalidInput("ack, retry and extend must be 1 to 100 entries together")
    return settlement.settle(request.queue, ack=ack, retry=retry, extend=extend, deadline=request.deadline)
