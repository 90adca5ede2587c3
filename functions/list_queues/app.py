"""GET /v1/queue: the user's queues by name."""

from typing import TypedDict

from tenancy import pages, queues, registry
from tenancy.endpoint import Request, endpoint
from tenancy.errors import InvalidInput
from tenancy.models import QueueName
from tenancy.pages import Page
from tenancy.queues import QueueView

_KIND = "queues"


class QueuesAsked(Page):
    name: QueueName | None = None


class QueuePage(TypedDict):
    queues: list[QueueView]
    next_cursor: str | None


@endpoint(query=QueuesAsked, fresh=True)
def handler(request: Request[QueuesAsked]) -> QueuePage:
    user, asked = request.tenant.user, request.input
    if asked.name is not None and asked.cursor is not None:
        raise InvalidInput("give name or cursor, not both", field="cursor")
    if asked.name is not None:
        return {"queues": [queues.view(queue) for queue in registry.named_queue(user, asked.name)], "next_cursor": None}
    found, more = registry.list_queues(user, after=pages.start(_KIND, asked, user), limit=asked.limit)
    return {"queues": [queues.view(queue) for queue in found], "next_cursor": pages.next_cursor(_KIND, more, user)}
