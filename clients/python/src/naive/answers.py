"""From the bytes of an answer to a model or to an error; nothing here sends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from naive import errors
from naive.models import Answer

AnswerModel = TypeVar("AnswerModel", bound=Answer)

WRONG_ADDRESS = "Check the base URL: what answered there does not look like this API."
_TRY_AGAIN = "The service is there and did not answer properly: try again in a moment."
_REQUEST_ID_HEADERS = ("x-request-id", "apigw-requestid", "x-amzn-requestid")

_CODE_BY_STATUS = {
    400: "invalid_input",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    409: "conflict",
    413: "payload_too_large",
    429: "rate_limited",
    500: "internal_error",
    502: "unavailable",
    503: "unavailable",
    504: "unavailable",
}
_CLASS_BY_STATUS: dict[int, type[errors.ApiError]] = {
    400: errors.BadRequestError,
    401: errors.UnauthorizedError,
    403: errors.ForbiddenError,
    404: errors.NotFoundError,
    409: errors.ConflictError,
    413: errors.PayloadTooLargeError,
    429: errors.RateLimitedError,
}
_CLASS_BY_CODE: dict[str, type[errors.ApiError]] = {
    error.code: error
    for error in (
        errors.InvalidInputError,
        errors.ReceiptInvalidError,
        errors.ReceiptExpiredError,
        errors.UnauthorizedError,
        errors.ForbiddenError,
        errors.KeySubjectMismatchError,
        errors.NotFoundError,
        errors.ConflictError,
        errors.AlreadyExistsError,
        errors.IdempotencyMismatchError,
        errors.RequestInProgressError,
        errors.PurgeInProgressError,
        errors.PayloadTooLargeError,
        errors.RateLimitedError,
        errors.InternalError,
        errors.UnavailableError,
    )
}


def read(model: type[AnswerModel], content: bytes) -> AnswerModel:
    """The answer as a model that remembers the text it was read from."""
    try:
        answer = model.model_validate_json(content)
    except ValidationError as fault:
        raise errors.UnexpectedAnswerError(
            f"The server's answer is not a {model.__name__}: {_first_problem(fault)}.", hint=WRONG_ADDRESS
        ) from None
    answer._raw = content
    return answer


def failure(status: int, headers: Mapping[str, str], content: bytes) -> errors.NaiveError:
    """The error that an answer stands for, whether our API, its gateway or a stranger gave it."""
    body = _json_object(content)
    reported = _object(body.get("error"))
    code = _text(reported.get("code"))
    said = _text(reported.get("message")) or code or _text(body.get("message")) or _text(body.get("Message"))
    if body and status >= 500:
        said = said or f"The server answered {status}."
    request_id = next((headers[name] for name in _REQUEST_ID_HEADERS if name in headers), None)
    if status < 400 or not said:
        return errors.UnexpectedAnswerError(
            f"The server answered {status}, and not in this API's words.",
            status=status,
            hint=WRONG_ADDRESS,
            request_id=request_id,
            retry_after=retry_after(headers),
        )
    known = code or _CODE_BY_STATUS.get(status, "internal_error" if status >= 500 else "unexpected_answer")
    return _class_for(status, known)(
        said,
        status=status,
        code=known,
        hint=_text(reported.get("hint")) or (None if code else _hint_for(status)),
        details=_object(reported.get("details")),
        request_id=_text(reported.get("request_id")) or request_id,
        retry_after=retry_after(headers),
    )


def unreadable(status: int, why: str) -> errors.UnexpectedAnswerError:
    """The error that an answer is whose content is not even looked at."""
    return errors.UnexpectedAnswerError(why, status=status, hint=WRONG_ADDRESS)


def _hint_for(status: int) -> str | None:
    """What to do about the error of somebody who does not say it, such as our API's gateway."""
    if status == 404:
        return WRONG_ADDRESS
    return _TRY_AGAIN if status == 429 or status >= 500 else None


def _class_for(status: int, code: str) -> type[errors.ApiError]:
    by_status = errors.ServerError if status >= 500 else _CLASS_BY_STATUS.get(status, errors.ApiError)
    by_code = _CLASS_BY_CODE.get(code, by_status)
    return by_code if issubclass(by_code, by_status) else by_status


def _json_object(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return _object(body)


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The wait in seconds; a date, which this API does not send, counts as none."""
    asked = headers.get("retry-after", "")
    return float(asked) if asked.isascii() and asked.isdigit() else None


def _first_problem(fault: ValidationError) -> str:
    """Where it differs and how, without the value: that may be somebody's message."""
    problem = fault.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in problem["loc"])
    return f"{where}: {problem['msg']}" if where else problem["msg"]
