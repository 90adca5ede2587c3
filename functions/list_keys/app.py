"""GET /v1/auth/keys: the company's keys, without the keys."""

from typing import TypedDict

from tenancy import keys, pages
from tenancy.endpoint import Request, endpoint
from tenancy.keys import KeyView
from tenancy.pages import Page

_KIND = "keys"


class KeyPage(TypedDict):
    keys: list[KeyView]
    next_cursor: str | None


@endpoint(query=Page, fresh=True, unsealed=True)
def handler(request: Request[Page]) -> KeyPage:
    company, page = request.tenant.company, request.input
    found, more = keys.page(company, after=pages.start(_KIND, page, company), limit=page.limit)
    return {"keys": found, "next_cursor": pages.next_cursor(_KIND, more, company)}
