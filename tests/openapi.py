"""openapi.json as a judge of answers: each must be one that the document describes, down to the last field."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema_rs import Draft202012Validator, Registry

from tests.template import ROOT

COMMITTED = ROOT / "layers" / "tenancy" / "tenancy" / "openapi.json"
JSON = "application/json"
_URI = "urn:openapi"


@cache
def document() -> Any:
    """The committed document."""
    return json.loads(COMMITTED.read_text(encoding="utf-8"))


@cache
def closed() -> Any:
    """The document for judges. Clients must expect new fields; here one that the document lacks is a fault."""
    strict = json.loads(COMMITTED.read_text(encoding="utf-8"))
    for schema in strict["components"]["schemas"].values():
        schema["additionalProperties"] = False
    return strict


def resolved(part: Any) -> Any:
    """A part of the document, or what it refers to."""
    if "$ref" not in part:
        return part
    target: Any = document()
    for name in part["$ref"].removeprefix("#/").split("/"):
        target = target[name]
    return target


def judge(route: str, status: int, headers: Mapping[str, str], text: str) -> None:
    """Assert that the document has this answer to a request of the route, as in `GET /v1/queue`."""
    if route == "$default":
        return  # Any path: OpenAPI has no word for it.
    method, _, path = route.partition(" ")
    responses = document()["paths"][path][method.lower()]["responses"]
    assert str(status) in responses, f"{route} answered {status}, which is not in openapi.json"
    response = resolved(responses[str(status)])
    given = {name.lower(): value for name, value in headers.items()}
    # Of a 429 none is required, since the gateway's own has none of ours; that from us has them all.
    limited = status == 429 and "rate_limited" in text
    for name, part in response.get("headers", {}).items():
        needed = limited or resolved(part).get("required")
        assert not needed or name.lower() in given, f"{route} {status} lacks {name}"
    if "content" not in response:
        assert text == "", f"{route} {status} has a body"
        return
    assert given["content-type"] == JSON
    conform(response["content"][JSON]["schema"], json.loads(text))


def conform(schema: Any, value: Any) -> None:
    """Assert that the value is one of a schema in the document."""
    _validator(json.dumps(schema)).validate(value)


@cache
def _validator(schema: str) -> Draft202012Validator:
    # As if it stood in the document, which is where its references lead.
    text = schema.replace('"#/', f'"{_URI}#/')
    return Draft202012Validator(json.loads(text), registry=Registry([(_URI, closed())]), validate_formats=True)
