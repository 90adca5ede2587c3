"""POST /v1/queue/{id}/messages/settle: acknowledge, give back and extend many messages."""

from typing import Annotated

from pydantic import Field

from tenancy import settlement
from tenancy.endpoint import Request, endpoint
from tenancy.errors import InvalidInput
from tenancy.models import Input, ReceiptHandle, Visibility
from tenancy.settlement import Settled


class Retry(Input):
    receipt_handle: ReceiptHandle
    delay_seconds: Visibility = 0


class Extend(Input):
    receipt_handle: ReceiptHandle
    visibility: Visibility


class Settle(Input):
    ack: Annotated[list[ReceiptHandle], Field(max_length=100)] | None = None
    retry: Annotated[list[Retry], Field(max_length=100)] | None = None
    extend: Annotated[list[Extend], Field(max_length=100)] | None = None


@endpoint(body=Settle)
def handler(request: Request[Settle]) -> dict[str, list[Settled]]:
    asked = request.input
    ack, retry, extend = asked.ack or [], asked.retry or [], asked.extend or []
    if not 1 <= len(ack) + len(retry) + len(extend) <= 100:
        raise InvalidInput("ack, retry and extend must be 1 to 100 entries together")
    return settlement.settle(
        request.queue,
        ack=ack,
        retry=[(entry.receipt_handle, entry.delay_seconds) for entry in retry],
        extend=[(entry.receipt_handle, entry.visibility) for entry in extend],
        deadline=request.deadline,
    )
