"""POST /v1/queue: make a queue."""

import time
from typing import Literal

from tenancy import queues
from tenancy.endpoint import Request, endpoint
from tenancy.errors import AlreadyExists, InvalidInput, RequestInProgress
from tenancy.models import Delay, Input, MaxReceiveCount, QueueName, Retention, Visibility
from tenancy.names import new_id
from tenancy.queues import QueueView
from tenancy.registry import Queue


class NewQueue(Input):
    name: QueueName
    type: Literal["standard", "fifo"] = "standard"
    dlq: bool = False
    max_receive_count: MaxReceiveCount | None = None
    visibility_timeout: Visibility = 30
    retention_seconds: Retention = 345_600
    delay_seconds: Delay = 0
    content_based_dedup: bool | None = None

    def made_for(self, company: str, user: str) -> Queue:
        """The queue that is asked for. Raises InvalidInput for settings that do not go together."""
        if self.max_receive_count is not None and not self.dlq:
            raise InvalidInput("max_receive_count is for queues with dlq true", field="max_receive_count")
        if self.content_based_dedup is not None and self.type == "standard":
            raise InvalidInput("content_based_dedup is for fifo queues", field="content_based_dedup")
        return Queue(
            id=new_id(),
            name=self.name,
            type=self.type,
            company=company,
            user=user,
            created_at=time.time(),
            visibility_timeout=self.visibility_timeout,
            retention_seconds=self.retention_seconds,
            delay_seconds=self.delay_seconds,
            max_receive_count=(self.max_receive_count or 5) if self.dlq else None,
            content_based_dedup=self.content_based_dedup is not False if self.type == "fifo" else None,
        )


@endpoint(body=NewQueue, status=201, audited=True, errors=(AlreadyExists, RequestInProgress))
def handler(request: Request[NewQueue]) -> QueueView:
    queue = request.input.made_for(request.tenant.company, request.tenant.user)
    queues.create(queue)
    return queues.view(queue)
