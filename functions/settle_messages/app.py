"""POST /v1/queue/{id}/messages/settle: acknowledge, give back and extend many messages."""

from typing import Annotated, TypedDict

from pydantic import Field, SkipValidation

from tenancy import settlement
from tenancy.endpoint import Request, endpoint
from tenancy.errors import Failed, InvalidInput
from tenancy.models import Input, ReceiptHandle
from tenancy.settlement import Extend, Retry, Settled


class Settle(Input):
    # Not checked here: each entry is checked on its own, so that one bad one fails alone.
    ack: Annotated[list[SkipValidation[ReceiptHandle]], Field(max_length=100)] | None = None
    retry: Annotated[list[SkipValidation[Retry]], Field(max_length=100)] | None = None
    extend: Annotated[list[SkipValidation[Extend]], Field(max_length=100)] | None = None


class Settlement(TypedDict):
    ack: list[Settled | Failed]
    retry: list[Settled | Failed]
    extend: list[Settled | Failed]


@endpoint(body=Settle)
def handler(request: Request[Settle]) -> Settlement:
    asked = request.input
    ack, retry, extend = asked.ack or [], asked.retry or [], asked.extend or []
    if not 1 <= len(ack) + len(retry) + len(extend) <= 100:
        raise InvalidInput("ack, retry and extend must be 1 to 100 entries together")
    done = settlement.settle(request.queue, ack=ack, retry=retry, extend=extend, deadline=request.deadline)
    return {"ack": done["ack"], "retry": done["retry"], "extend": done["extend"]}
