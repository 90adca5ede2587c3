"""$default: every route that is no operation."""

from typing import NoReturn

from tenancy.endpoint import public
from tenancy.errors import NotFound


@public
def handler() -> NoReturn:
    raise NotFound("there is no such route", hint="Look up the method and the path in the HTTP API reference.")
