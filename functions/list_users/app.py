"""GET /v1/users: the company's users."""

from typing import TypedDict

from tenancy import pages, users
from tenancy.endpoint import Request, endpoint
from tenancy.errors import InvalidInput
from tenancy.models import ExternalId
from tenancy.pages import Page
from tenancy.users import UserView

_KIND = "users"


class UsersAsked(Page):
    external_id: ExternalId | None = None


class UserPage(TypedDict):
    users: list[UserView]
    next_cursor: str | None


@endpoint(query=UsersAsked, fresh=True, unsealed=True)
def handler(request: Request[UsersAsked]) -> UserPage:
    company, asked = request.tenant.company, request.input
    if asked.external_id is not None and asked.cursor is not None:
        raise InvalidInput("give external_id or cursor, not both", field="cursor")
    if asked.external_id is not None:
        return {"users": users.known_as(company, asked.external_id), "next_cursor": None}
    found, more = users.page(company, after=pages.start(_KIND, asked, company), limit=asked.limit)
    return {"users": found, "next_cursor": pages.next_cursor(_KIND, more, company)}
