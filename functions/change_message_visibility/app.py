"""PATCH /v1/queue/{id}/messages: hold a message longer, or give it back."""

from tenancy import leases
from tenancy.endpoint import Request, endpoint
from tenancy.errors import ReceiptExpired, ReceiptInvalid
from tenancy.leases import Extended
from tenancy.models import Input, ReceiptHandle, Visibility


class LeaseChange(Input):
    receipt_handle: ReceiptHandle
    visibility: Visibility


@endpoint(body=LeaseChange, errors=(ReceiptInvalid, ReceiptExpired))
def handler(request: Request[LeaseChange]) -> Extended:
    return leases.change_visibility(request.queue, request.input.receipt_handle, request.input.visibility)
