"""GET /health: whether the API answers."""

from tenancy.endpoint import public


@public
def handler() -> dict[str, str]:
    return {"status": "ok"}
