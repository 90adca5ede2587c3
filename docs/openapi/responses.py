"""What an operation may answer: its success, and every refusal by its status."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, get_type_hints

from docs.openapi.examples import REFUSALS, REQUEST_ID, Example
from docs.openapi.schemas import Schemas
from tenancy.endpoint import Json, Operation
from tenancy.errors import (
    ErrorAnswer,
    Forbidden,
    IdempotencyMismatch,
    InvalidInput,
    KeySubjectMismatch,
    NotFound,
    PayloadTooLarge,
    QueueError,
    RateLimited,
    RequestInProgress,
    Unauthorized,
    Unavailable,
)

type Part = dict[str, Any]

JSON = "application/json"

HEADERS: dict[str, Part] = {
    "X-Request-Id": {
        "description": "Names the request, for when you ask for help.",
        "required": True,
        "schema": {"type": "string", "minLength": 1},
    },
    "Cache-Control": {"required": True, "schema": {"const": "no-store"}},
    "WWW-Authenticate": {"required": True, "schema": {"const": "Bearer"}},
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}},
    "X-RateLimit-Limit": {"description": "The limit that was met.", "schema": {"type": "integer", "minimum": 1}},
    "X-RateLimit-Remaining": {"description": "What is left of it.", "schema": {"type": "integer", "minimum": 0}},
    "X-RateLimit-Reset": {
        "description": "Seconds from now until there is some of it again.",
        "schema": {"type": "integer", "minimum": 1},
    },
}

_WITH_KEY = (InvalidInput, Unauthorized, KeySubjectMismatch, NotFound, RateLimited, Unavailable)
_BY_METHOD: dict[str, tuple[type[QueueError], ...]] = {
    "POST": (IdempotencyMismatch, RequestInProgress, PayloadTooLarge),
    "PATCH": (PayloadTooLarge,),
}

_BY_GATEWAY = "Above the stage's throttle; answered by API Gateway, in its own shape."
_GATEWAYS_SHAPE = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}
_GATEWAYS_ANSWER = {"message": "Too Many Requests"}


class Responses:
    """The responses under components, filled by the operations that refer to them."""

    def __init__(self, schemas: Schemas) -> None:
        self.shared = {"Throttled": _throttled()}
        self._schemas = schemas
        self._error = schemas.answer(ErrorAnswer)

    def of(self, method: str, handler: Operation, example: Example) -> Part:
        """The responses of an operation by status, the success first."""
        own = {type(refusal): refusal for refusal in example.refusals}
        refusals = {str(status): self._refer(possible, own) for status, possible in _refusals(method, handler)}
        refusals.setdefault("429", {"$ref": "#/components/responses/Throttled"})
        return {str(handler.status): self._success(handler, example), **dict(sorted(refusals.items()))}

    def _success(self, handler: Operation, example: Example) -> Part:
        response: Part = {"description": HTTPStatus(handler.status).phrase, "headers": _headers()}
        shape = get_type_hints(handler.run)["return"]
        if shape is not type(None):
            schema = {"type": "object"} if shape is Json else self._schemas.answer(shape, handler.secret)
            response["content"] = {JSON: {"schema": schema, "example": example.answer}}
        return response

    def _refer(self, refusals: list[QueueError], own: Mapping[type[QueueError], QueueError]) -> Part:
        """A reference to what is shared, or the response itself where the operation has an example of its own."""
        response = self._refusal([own.get(type(refusal), refusal) for refusal in refusals])
        if any(type(refusal) in own for refusal in refusals):
            return response
        name = "Or".join(type(refusal).__name__ for refusal in refusals)
        self.shared[name] = response
        return {"$ref": f"#/components/responses/{name}"}

    def _refusal(self, refusals: list[QueueError]) -> Part:
        codes = {"properties": {"error": {"properties": {"code": {"enum": [refusal.code for refusal in refusals]}}}}}
        content: Part = {
            "schema": {"allOf": [self._error, codes]},
            "examples": {refusal.code: {"value": refusal.to_wire(REQUEST_ID)} for refusal in refusals},
        }
        response: Part = {
            "description": "\n".join(f"- `{refusal.code}`: {refusal.__doc__}" for refusal in refusals),
            "headers": _headers(refusals),
            "content": {JSON: content},
        }
        return _or_throttled(response) if isinstance(refusals[0], RateLimited) else response


def _refusals(method: str, handler: Operation) -> Iterable[tuple[int, list[QueueError]]]:
    """Everything that the operation may refuse with, by status."""
    possible: set[type[QueueError]] = {QueueError, InvalidInput, *handler.errors}
    if handler.keyed:
        possible |= {*_WITH_KEY, *_BY_METHOD.get(method, ())}
    if handler.unsealed:
        possible.add(Forbidden)
    for status in {error.status for error in possible}:
        yield status, [refusal for refusal in REFUSALS if type(refusal) in possible and refusal.status == status]


def _headers(refusals: Iterable[QueueError] = ()) -> Part:
    names = ["X-Request-Id", "Cache-Control"]
    if any(refusal.status == HTTPStatus.UNAUTHORIZED for refusal in refusals):
        names.append("WWW-Authenticate")
    if any(refusal.retry_after for refusal in refusals):
        names.append("Retry-After")
    if any(isinstance(refusal, RateLimited) for refusal in refusals):
        names += ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _throttled() -> Part:
    return {"description": _BY_GATEWAY, "content": {JSON: {"schema": _GATEWAYS_SHAPE, "example": _GATEWAYS_ANSWER}}}


def _or_throttled(limited: Part) -> Part:
    """The response to one who asks too much, which the gateway may give too, without a header of ours."""
    content = limited["content"][JSON]
    return {
        "description": f"{limited['description']}\n- {_BY_GATEWAY}",
        "headers": {name: HEADERS[name] | {"required": False} for name in limited["headers"]},
        "content": {
            JSON: {
                "schema": {"anyOf": [content["schema"], _GATEWAYS_SHAPE]},
                "examples": content["examples"] | {"throttled": {"value": _GATEWAYS_ANSWER}},
            }
        },
    }
