"""Everything that can go wrong, as one tree.

NaiveError
├── ConfigurationError          no key, no usable base URL or a closed client: nothing was sent
├── UnreachableError            no connection: the server never saw the request
├── NoAnswerError               sent, but no answer came: it may have taken effect
├── UnexpectedAnswerError       an answer that this API does not give
├── SecretLostError             done, but the one answer that shows the secret was lost
├── InvalidWebhookError         a delivery that is not ours
└── ApiError                    the API refused
    ├── BadRequestError         400
    │   ├── InvalidInputError
    │   ├── ReceiptInvalidError
    │   └── ReceiptExpiredError
    ├── UnauthorizedError       401
    ├── ForbiddenError          403
    │   └── KeySubjectMismatchError
    ├── NotFoundError           404
    ├── ConflictError           409
    │   ├── AlreadyExistsError
    │   ├── IdempotencyMismatchError
    │   ├── RequestInProgressError
    │   └── PurgeInProgressError
    ├── PayloadTooLargeError    413
    ├── RateLimitedError        429
    └── ServerError             5xx
        ├── InternalError
        └── UnavailableError
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class NaiveError(Exception):
    """Base of every error of this package."""

    code = "error"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        hint: str | None = None,
        details: Mapping[str, Any] | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code or type(self).code
        self.hint = hint
        self.details = dict(details or {})
        self.request_id = request_id
        self.retry_after = retry_after

    def __str__(self) -> str:
        reference = self.code if self.request_id is None else f"{self.code}, request {self.request_id}"
        told = f"{self.message} ({reference})"
        return f"{told}\nHint: {self.hint}" if self.hint else told


class ConfigurationError(NaiveError):
    """Raised before anything is sent: the key or the base URL is missing or unusable, or the client is closed."""

    code = "configuration"


class UnreachableError(NaiveError):
    """Raised when no connection could be made, so the server never saw the request."""

    code = "unreachable"


class NoAnswerError(NaiveError):
    """Raised when the request was sent and no answer came: whether it took effect is not known."""

    code = "no_answer"


class UnexpectedAnswerError(NaiveError):
    """Raised when something answered that does not speak this API, such as a proxy or another site."""

    code = "unexpected_answer"


class SecretLostError(NaiveError):
    """Raised when a secret was made whose only showing was lost on the way; `details` has the id of what was made."""

    code = "secret_lost"


class InvalidWebhookError(NaiveError):
    """Raised for a webhook's request that was not signed with its secret, or not now."""

    code = "invalid_webhook"


class ApiError(NaiveError):
    """Base of every refusal by the API."""


class BadRequestError(ApiError):
    """Raised when the request itself is wrong (400)."""


class InvalidInputError(BadRequestError):
    """Raised when a field is unknown, missing or out of range; the message names it."""

    code = "invalid_input"


class ReceiptInvalidError(BadRequestError):
    """Raised when a receipt handle is garbled or belongs to another queue."""

    code = "receipt_invalid"


class ReceiptExpiredError(BadRequestError):
    """Raised when the lease behind a receipt handle is over."""

    code = "receipt_expired"


class UnauthorizedError(ApiError):
    """Raised when the API key is missing, unknown or revoked (401)."""

    code = "unauthorized"


class ForbiddenError(ApiError):
    """Raised when the key may not make this call (403)."""

    code = "forbidden"


class KeySubjectMismatchError(ForbiddenError):
    """Raised when a key that is sealed to one user names another."""

    code = "key_subject_mismatch"


class NotFoundError(ApiError):
    """Raised when the thing does not exist, or is not this user's (404)."""

    code = "not_found"


class ConflictError(ApiError):
    """Raised when the state of the thing forbids the call (409); `details["reason"]` says which."""

    code = "conflict"


class AlreadyExistsError(ConflictError):
    """Raised when the name is taken; `details["id"]` is who has it."""

    code = "already_exists"


class IdempotencyMismatchError(ConflictError):
    """Raised when an idempotency key was used before with another body."""

    code = "idempotency_mismatch"


class RequestInProgressError(ConflictError):
    """Raised while the first request with the same idempotency key still runs."""

    code = "request_in_progress"


class PurgeInProgressError(ConflictError):
    """Raised when the queue was purged less than a minute ago."""

    code = "purge_in_progress"


class PayloadTooLargeError(ApiError):
    """Raised when a message or a request is over its limit (413)."""

    code = "payload_too_large"


class RateLimitedError(ApiError):
    """Raised when there were too many calls (429); `retry_after` says how long to wait."""

    code = "rate_limited"


class ServerError(ApiError):
    """Base of every failure on the server's side (5xx)."""


class InternalError(ServerError):
    """Raised when the server failed unexpectedly."""

    code = "internal_error"


class UnavailableError(ServerError):
    """Raised when the server, or something it depends on, cannot answer now."""

    code = "unavailable"
