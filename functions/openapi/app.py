"""GET /openapi.json: the description of this API."""

from tenancy import description
from tenancy.endpoint import Json, public

_DOCUMENT = Json(description.TEXT)


@public
def handler() -> Json:
    return _DOCUMENT
