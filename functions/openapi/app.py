"""GET /openapi.json: the description of this API."""

from importlib import resources

from tenancy.endpoint import Json, public

_DOCUMENT = Json(resources.files("tenancy").joinpath("openapi.json").read_text(encoding="utf-8"))


@public
def handler() -> Json:
    return _DOCUMENT
