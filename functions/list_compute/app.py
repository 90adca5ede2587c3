"""GET /v1/compute: the user's services by name."""

from collections.abc import Sequence
from typing import TypedDict

from tenancy import fleet, pages, services
from tenancy.endpoint import Request, endpoint
from tenancy.errors import InvalidInput
from tenancy.models import ServiceName
from tenancy.pages import Page
from tenancy.registry import Service
from tenancy.views import ServiceView, view

_KIND = "services"


class ServicesAsked(Page):
    name: ServiceName | None = None


class ServicePage(TypedDict):
    services: list[ServiceView]
    next_cursor: str | None


@endpoint(query=ServicesAsked, fresh=True)
def handler(request: Request[ServicesAsked]) -> ServicePage:
    user, asked = request.tenant.user, request.input
    if asked.name is not None and asked.cursor is not None:
        raise InvalidInput("give name or cursor, not both", field="cursor")
    if asked.name is not None:
        return {"services": _views(services.named(user, asked.name)), "next_cursor": None}
    found, more = services.page(user, after=pages.start(_KIND, asked, user), limit=asked.limit)
    return {"services": _views(found), "next_cursor": pages.next_cursor(_KIND, more, user)}


def _views(found: Sequence[Service]) -> list[ServiceView]:
    return [view(service, counts) for service, counts in zip(found, fleet.counts_of(found), strict=True)]
