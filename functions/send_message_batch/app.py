"""POST /v1/queue/{id}/messages/batch: put up to 100 messages on a queue."""

from typing import Annotated, TypedDict

from pydantic import Field, SkipValidation

from tenancy import producer
from tenancy.drafts import NewMessage, SentMessage
from tenancy.endpoint import Request, endpoint
from tenancy.errors import Failed
from tenancy.messages import MAX_BATCH_BYTES
from tenancy.models import Input


class NewMessages(Input):
    # Not checked here: each entry is checked on its own, so that one bad one fails alone.
    messages: Annotated[list[SkipValidation[NewMessage]], Field(min_length=1, max_length=100)]


class SentMessages(TypedDict):
    results: list[SentMessage | Failed]


@endpoint(body=NewMessages, max_bytes=MAX_BATCH_BYTES)
def handler(request: Request[NewMessages]) -> SentMessages:
    sent = producer.send_batch(request.queue, request.input.messages, request.tenant.key_id, request.deadline)
    return {"results": sent}
