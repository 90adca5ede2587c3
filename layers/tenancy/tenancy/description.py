"""The API's own description, and the numbers that it allows, so that they stand in one place."""

import json
from collections.abc import Iterator
from importlib import resources
from typing import Any

TEXT = resources.files("tenancy").joinpath("openapi.json").read_text(encoding="utf-8")
"""The OpenAPI document."""

_BOUNDS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "maxProperties", "default")

Bounds = dict[str, dict[str, dict[str, Any]]]


def bounds() -> Bounds:
    """The bounds and the default of each field that has one, by operation."""
    document = json.loads(TEXT)
    found: Bounds = {}
    for path, methods in document["paths"].items():
        for operation in methods.values() if not path.startswith("/v1/users/{user_id}/") else ():
            fields = {name: _bounds_of(schema) for name, schema in _fields(operation, document)}
            if any(fields.values()):
                found[operation["operationId"]] = {name: bounds for name, bounds in fields.items() if bounds}
    return found


def _fields(operation: dict[str, Any], document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The operation's fields in query and body, with their schemas."""
    for parameter in operation.get("parameters", []):
        if "schema" in parameter:
            yield parameter["name"], parameter["schema"]
    if "requestBody" in operation:
        reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        yield from document["components"]["schemas"][reference.rpartition("/")[2]]["properties"].items()


def _bounds_of(schema: dict[str, Any]) -> dict[str, Any]:
    """What a schema says of size, without what null, which is leaving out, says."""
    options: list[dict[str, Any]] = schema.get("anyOf", [])
    given = next((option for option in options if option.get("type") != "null"), {})
    return {name: value for name, value in {**given, **schema}.items() if name in _BOUNDS}
