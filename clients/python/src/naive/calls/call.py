"""A request as a value, and what those of every noun are made of."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from naive.answers import AnswerModel, read
from naive.errors import InvalidInputError
from naive.retries import Repeatable

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)
ROOT = "/v1"


@dataclass(frozen=True)
class Call(Generic[Result_co]):
    """One request, ready to be sent."""

    method: str
    path: str
    read: Callable[[bytes], Result_co]
    repeatable: Repeatable = Repeatable.ALWAYS
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    idempotency_key: str | None = None
    wait: int = 0
    """Seconds the server may take its time on purpose."""
    done_when_absent: bool = False
    """Whether a 404 after a failed attempt means that the attempt had worked."""

    def headers(self) -> dict[str, str]:
        """The headers that belong to this call, beside those of every call."""
        headers = {}
        if self.body is not None:
            headers["Content-Type"] = "application/json"
        if self.idempotency_key is not None:
            headers["Idempotency-Key"] = self.idempotency_key
        return headers

    def content(self) -> bytes | None:
        """The body as bytes, the same at every attempt."""
        return None if self.body is None else encode(self.body)


def mount(user_id: str | None) -> str:
    """The path under which a user's things are, or those of whoever the key stands for."""
    return ROOT if user_id is None else f"{ROOT}/users/{segment(user_id)}"


def encode(body: object) -> bytes:
    """Compact JSON in UTF-8; text that UTF-8 cannot hold is escaped, so that the server can name what it refuses."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(body, separators=(",", ":")).encode()
    except TypeError as fault:
        raise InvalidInputError(f"Nothing that could be sent as JSON: {fault}.") from None


def segment(id: str) -> str:
    """An id as one step of a path, out of which it cannot lead."""
    try:
        return quote(id, safe="")
    except UnicodeEncodeError:
        raise InvalidInputError(f"{id!r} is not an id.") from None


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None; what is left out is left to the server."""
    return {name: value for name, value in fields.items() if value is not None}


def answer_as(model: type[AnswerModel]) -> Callable[[bytes], AnswerModel]:
    """The reader of an answer that has this shape."""
    return partial(read, model)


def nothing(content: bytes) -> None:
    """The reader of an answer that has no body."""
    return None


def unique() -> str:
    """A text that no other call has, for the server to know a repeated one by."""
    return str(uuid.uuid4())
