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
    request_id = next((headers[name] for name in _REQUEST_ID_HEADERS if name in headers), None)
    reported = body.get("error")
    if status >= 400 and isinstance(reported, dict) and isinstance(reported.get("code"), str):
        return _reported(status, headers, reported, request_id)
    said = body.get("message") or body.get("Message")
    if body and status >= 500 and not isinstance(said, str):
        said = f"The server answered {status}."
    if status >= 400 and isinstance(said, str):
        code = _CODE_BY_STATUS.get(status, "internal_error" if status >= 500 else "unexpected_answer")
        return _class_for(status, code)(
            said,
            status=status,
            code=code,
            hint=WRONG_ADDRESS if status == 404 else _TRY_AGAIN if status == 429 or status >= 500 else None,
            request_id=request_id,
            retry_after=retry_after(headers),
        )
    return errors.UnexpectedAnswerError(
        f"The server answered {status}, and not in this API's words.",
        status=status,
        hint=WRONG_ADDRESS,
        request_id=request_id,
        retry_after=retry_after(headers),
    )


def _reported(
    status: int, headers: Mapping[str, str], reported: Mapping[str, Any], request_id: str | None
) -> errors.ApiError:
    code = reported["code"]
    details = reported.get("details")
    return _class_for(status, code)(
        str(reported.get("message", code)),
        status=status,
        code=code,
        hint=reported.get("hint"),
        details=details if isinstance(details, dict) else None,
        request_id=reported.get("request_id") or request_id,
        retry_after=retry_after(headers),
    )


def _class_for(status: int, code: str) -> type[errors.ApiError]:
    by_status = errors.ServerError if status >= 500 else _CLASS_BY_STATUS.get(status, errors.ApiError)
    by_code = _CLASS_BY_CODE.get(code, by_status)
    return by_code if issubclass(by_code, by_status) else by_status


def _json_object(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The wait in seconds; a date, which this API does not send, counts as none."""
    asked = headers.get("retry-after", "")
    return float(asked) if asked.isascii() and asked.isdigit() else None


def _first_problem(fault: ValidationError) -> str:
    """Where it differs and how, without the value: that may be somebody's message."""
    problem = fault.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in problem["loc"])
    return f"{where}: {problem['msg']}" if where else problem["msg"]
