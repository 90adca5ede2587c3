"""PATCH /v1/queue/{id}/consumer: change its numbers, pause or resume it."""

from tenancy import consumers
from tenancy.consumers import ConsumerView
from tenancy.endpoint import Request, endpoint
from tenancy.errors import InvalidInput, RequestInProgress
from tenancy.models import BatchSize, IdleSeconds, Input, MaxConcurrency, MaxWorkers, MessagesPerWorker, MinWorkers


class ConsumerChanges(Input):
    batch_size: BatchSize | None = None
    max_concurrency: MaxConcurrency | None = None
    min: MinWorkers | None = None
    max: MaxWorkers | None = None
    messages_per_worker: MessagesPerWorker | None = None
    idle_seconds: IdleSeconds | None = None
    paused: bool | None = None


@endpoint(body=ConsumerChanges, fresh=True, audited=True, errors=(RequestInProgress,))
def handler(request: Request[ConsumerChanges]) -> ConsumerView:
    settings = request.input.model_dump(exclude_none=True)
    if not settings:
        raise InvalidInput("give at least one of " + ", ".join(ConsumerChanges.model_fields))
    return consumers.change(request.queue, settings)
