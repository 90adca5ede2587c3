"""DELETE /v1/queue/{id}/messages: acknowledge a message."""

from tenancy import leases
from tenancy.endpoint import Request, endpoint
from tenancy.errors import ReceiptExpired, ReceiptInvalid
from tenancy.models import Input, ReceiptHandle


class Acknowledge(Input):
    receipt_handle: ReceiptHandle


@endpoint(query=Acknowledge, status=204, errors=(ReceiptInvalid, ReceiptExpired))
def handler(request: Request[Acknowledge]) -> None:
    leases.acknowledge(request.queue, request.input.receipt_handle)
