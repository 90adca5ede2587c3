"""GET /v1/queue: the user's queues by name."""

import re
from typing import Annotated, TypedDict

from pydantic import Field

from tenancy import queues, registry, tokens
from tenancy.endpoint import Request, endpoint
from tenancy.errors import InvalidInput
from tenancy.models import Cursor, FromText, Input, QueueName
from tenancy.names import NAME_PATTERN
from tenancy.queues import QueueView

_KIND = "queues"


class Page(Input):
    limit: Annotated[int, Field(ge=1, le=100), FromText] = 50
    cursor: Cursor | None = None
    name: QueueName | None = None


class QueuePage(TypedDict):
    queues: list[QueueView]
    next_cursor: str | None


@endpoint(query=Page, fresh=True)
def handler(request: Request[Page]) -> QueuePage:
    user, page = request.tenant.user, request.input
    if page.name is not None and page.cursor is not None:
        raise InvalidInput("give name or cursor, not both", field="cursor")
    if page.name is not None:
        return {"queues": [queues.view(queue) for queue in registry.named_queue(user, page.name)], "next_cursor": None}
    found, more = registry.list_queues(user, after=_position(page.cursor, user), limit=page.limit)
    next_cursor = None if more is None else tokens.seal(_KIND, more.encode(), user)
    return {"queues": [queues.view(queue) for queue in found], "next_cursor": next_cursor}


def _position(cursor: str | None, user: str) -> str:
    if cursor is None:
        return ""
    name = (tokens.unseal(_KIND, cursor, user) or b"").decode("ascii", "replace")
    if not re.fullmatch(NAME_PATTERN, name):
        raise InvalidInput("cursor must be the next_cursor of an earlier answer, unchanged", field="cursor")
    return name
