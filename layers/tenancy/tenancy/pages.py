"""Lists in pages: what a request may ask for, and the cursor to go on from."""

import re
from typing import Annotated

from pydantic import Field

from tenancy import tokens
from tenancy.errors import InvalidInput
from tenancy.models import Cursor, FromText, Input
from tenancy.names import NAME_PATTERN


class Page(Input):
    limit: Annotated[int, Field(ge=1, le=100), FromText] = 50
    cursor: Cursor | None = None


def start(kind: str, page: Page, owner: str) -> str:
    """The name or id that the page comes after, "" for the first one. Raises InvalidInput for any other cursor."""
    if page.cursor is None:
        return ""
    after = (tokens.unseal(kind, page.cursor, owner) or b"").decode("ascii", "replace")
    if not re.fullmatch(NAME_PATTERN, after):
        raise InvalidInput("cursor must be the next_cursor of an earlier answer, unchanged", field="cursor")
    return after


def next_cursor(kind: str, more: str | None, owner: str) -> str | None:
    """The cursor of the next page, which starts behind `more`; None at the end."""
    return None if more is None else tokens.seal(kind, more.encode(), owner)
