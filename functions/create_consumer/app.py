"""POST /v1/queue/{id}/consumer: have a function, a webhook or a service work the queue off."""

import os
from typing import Annotated, Literal

from pydantic import Field

from tenancy import consumers
from tenancy.consumers import NewConsumer
from tenancy.endpoint import Request, endpoint
from tenancy.errors import Conflict
from tenancy.models import BatchSize, IdleSeconds, Input, MaxConcurrency, MaxWorkers, MessagesPerWorker, MinWorkers

_ALLOW_LOOPBACK = os.environ["WEBHOOK_ALLOW_LOOPBACK"] == "true"


class ConsumerAsked(Input):
    type: Literal["function", "webhook", "service"]
    function: Annotated[str, Field(description="the name of a function that was deployed for your company")] | None = (
        None
    )
    url: Annotated[str, Field(description="where a webhook is, at a public address")] | None = None
    service_id: Annotated[str, Field(description="the id of a service")] | None = None
    batch_size: BatchSize | None = None
    max_concurrency: MaxConcurrency | None = None
    min: MinWorkers | None = None
    max: MaxWorkers | None = None
    messages_per_worker: MessagesPerWorker | None = None
    idle_seconds: IdleSeconds | None = None


@endpoint(body=ConsumerAsked, status=201, fresh=True, audited=True, secret="secret", errors=(Conflict,))
def handler(request: Request[ConsumerAsked]) -> NewConsumer:
    settings = request.input.model_dump(exclude_none=True)
    return consumers.create(request.queue, settings, allow_loopback=_ALLOW_LOOPBACK)
