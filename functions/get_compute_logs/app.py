"""GET /v1/compute/{service_id}/logs: what the tasks of a service have written."""

from typing import Annotated

from pydantic import Field

from tenancy import logs
from tenancy.endpoint import Request, endpoint
from tenancy.logs import Lines
from tenancy.models import FromText, Input

LongCursor = Annotated[str, Field(max_length=4000, description="the next_cursor of an earlier answer, unchanged")]


class LogsAsked(Input):
    limit: Annotated[int, Field(ge=1, le=1000), FromText] = 100
    cursor: LongCursor | None = None


@endpoint(query=LogsAsked)
def handler(request: Request[LogsAsked]) -> Lines:
    return logs.read(request.service, limit=request.input.limit, cursor=request.input.cursor)
