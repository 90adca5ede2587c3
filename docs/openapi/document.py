"""The whole description: every route of the template, with what its function's handler says of itself."""

import importlib
import json
from typing import Any

from docs.openapi import reference
from docs.openapi.examples import KEY_ID, OPERATIONS, QUEUE_ID, REQUEST_ID, SERVICE_ID, USER_ID, Example
from docs.openapi.responses import HEADERS, JSON, Responses
from docs.openapi.schemas import Schemas
from tenancy.endpoint import Operation
from tests.template import ROOT, routes

type Part = dict[str, Any]

COMMITTED = ROOT / "layers" / "tenancy" / "tenancy" / "openapi.json"
USER_MOUNT = "/v1/users/{user_id}/"

_CHAPTERS = ("Queues", "Messages", "Dead letters", "Consumers", "Services", "Users", "Keys", "Without a key")

_PARAMETERS: dict[str, Part] = {
    "id": {
        "name": "id",
        "in": "path",
        "required": True,
        "description": "The queue's id.",
        "schema": {"type": "string", "format": "uuid"},
        "example": QUEUE_ID,
    },
    "service_id": {
        "name": "service_id",
        "in": "path",
        "required": True,
        "description": "The service's id.",
        "schema": {"type": "string", "format": "uuid"},
        "example": SERVICE_ID,
    },
    "key_id": {
        "name": "key_id",
        "in": "path",
        "required": True,
        "description": "The key's id.",
        "schema": {"type": "string", "format": "uuid"},
        "example": KEY_ID,
    },
    "user_id": {
        "name": "user_id",
        "in": "path",
        "required": True,
        "description": "The user's id; `default` and `me` name nobody, as no user in the path does.",
        "schema": {"type": "string"},
        "example": USER_ID,
    },
    "for_user": {
        "name": "X-Naive-User-Id",
        "in": "header",
        "description": "The user to act for; `default` and `me` name nobody.",
        "schema": {"type": "string"},
        "example": USER_ID,
    },
    "idempotency_key": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "Repeated with the same key, the request is answered as the first time and done once.",
        "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
        "example": REQUEST_ID,
    },
}


def text() -> str:
    """The document as it is committed and served."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def document() -> Part:
    """The document as data."""
    schemas = Schemas()
    responses = Responses(schemas)
    paths: dict[str, Part] = {}
    for (method, path), folder in routes().items():
        if path != "*":
            paths.setdefault(path, {})[method.lower()] = _operation(method, path, folder, schemas, responses)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Naive queue",
            "version": "1",
            "summary": "Durable work queues as a service, on Amazon SQS.",
            "description": reference.chapters()["Conventions"].text,
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "The deployment that serves this document."}],
        "security": [{"key": []}],
        "tags": [{"name": name, "description": reference.chapters()[name].text} for name in _CHAPTERS],
        "paths": dict(sorted(paths.items())),
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "nv_sk_live_…"}},
            "parameters": _PARAMETERS,
            "headers": HEADERS,
            "responses": dict(sorted(responses.shared.items())),
            "schemas": dict(sorted(schemas.shared.items())),
        },
    }


def _operation(method: str, path: str, folder: str, schemas: Schemas, responses: Responses) -> Part:
    module = importlib.import_module(f"functions.{folder}.app")
    handler: Operation = module.handler.operation
    example = OPERATIONS[folder]
    for_user = path.startswith(USER_MOUNT)
    tag, said = _reference(f"{method} {path.replace(USER_MOUNT, '/v1/')}")
    summary = str(module.__doc__).partition(": ")[2]
    operation: Part = {
        "operationId": f"{folder}_for_user" if for_user else folder,
        "tags": [tag],
        "summary": summary[0].upper() + summary[1:].rstrip("."),
        "description": f"As `{folder}`, for the user that the path names." if for_user else said,
    }
    if handler.public:
        operation["security"] = [{}, {"key": []}] if handler.keyed else []
    parameters = [*_named(method, path, handler), *_queried(handler, example, schemas, reference.rows(said))]
    if parameters:
        operation["parameters"] = parameters
    if handler.body is not None:
        operation["requestBody"] = {
            "required": any(field.is_required() for field in handler.body.model_fields.values()),
            "content": {JSON: {"schema": schemas.body(handler.body), "example": example.body}},
        }
    operation["responses"] = responses.of(method, handler, example)
    return operation


def _reference(route: str) -> tuple[str, str]:
    """The chapter of the reference that has the route, and what is said there."""
    chapters = reference.chapters()
    return next((name, chapters[name].routes[route]) for name in _CHAPTERS if route in chapters[name].routes)


def _named(method: str, path: str, handler: Operation) -> list[Part]:
    """The parameters that many operations have."""
    names = [name for name in ("user_id", "id", "service_id", "key_id") if f"{{{name}}}" in path]
    if handler.keyed and "user_id" not in names:
        names.append("for_user")
    if method == "POST":
        names.append("idempotency_key")
    return [{"$ref": f"#/components/parameters/{name}"} for name in names]


def _queried(handler: Operation, example: Example, schemas: Schemas, said: dict[str, str]) -> list[Part]:
    """The parameters in the query."""
    parameters = []
    for name, (schema, required) in schemas.query(handler.query).items() if handler.query else ():
        parameter: Part = {"name": name, "in": "query", "description": said[name], "required": required}
        given = (example.query or {}).get(name)
        parameters.append(parameter | {"schema": schema} | ({} if given is None else {"example": given}))
    return parameters
