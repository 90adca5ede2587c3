"""GET /v1/users: the company's users."""

from typing import TypedDict

from tenancy import pages, users
from tenancy.endpoint import Request, endpoint
from tenancy.pages import Page
from tenancy.users import UserView

_KIND = "users"


class UserPage(TypedDict):
    users: list[UserView]
    next_cursor: str | None


@endpoint(query=Page, fresh=True, unsealed=True)
def handler(request: Request[Page]) -> UserPage:
    company, page = request.tenant.company, request.input
    found, more = users.page(company, after=pages.start(_KIND, page, company), limit=page.limit)
    return {"users": found, "next_cursor": pages.next_cursor(_KIND, more, company)}
