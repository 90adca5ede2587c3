"""POST /v1/queue/{id}/messages: put one message on a queue."""

from tenancy import producer
from tenancy.drafts import NewMessage, SentMessage
from tenancy.endpoint import Request, endpoint


@endpoint(body=NewMessage, status=201)
def handler(request: Request[NewMessage]) -> SentMessage:
    return producer.send(request.queue, request.input, request.tenant.key_id, request.deadline)
