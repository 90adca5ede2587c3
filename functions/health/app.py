"""GET /health: whether the API answers."""

from typing import Literal, TypedDict

from tenancy.endpoint import public


class Health(TypedDict):
    status: Literal["ok"]


@public
def handler() -> Health:
    return {"status": "ok"}
