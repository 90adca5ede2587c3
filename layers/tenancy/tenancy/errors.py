"""Every error that a caller can meet. The wire shape of all of them is made here and nowhere else.

QueueError                  500 internal_error
├── InvalidInput            400 invalid_input
│   ├── ReceiptInvalid      400 receipt_invalid
│   └── ReceiptExpired      400 receipt_expired
├── Unauthorized            401 unauthorized
├── Forbidden               403 forbidden
├── KeySubjectMismatch      403 key_subject_mismatch
├── NotFound                404 not_found
├── AlreadyExists           409 already_exists
├── Conflict                409 conflict
├── IdempotencyMismatch     409 idempotency_mismatch
├── PurgeInProgress         409 purge_in_progress
├── RequestInProgress       409 request_in_progress
├── PayloadTooLarge         413 payload_too_large
├── RateLimited             429 rate_limited
└── Unavailable             503 unavailable
"""

import re
from typing import Any, NotRequired, TypedDict

_KEY = re.compile(r"(nv_sk_live_)[A-Za-z0-9_-]+")


class EntryError(TypedDict):
    """What is wrong with one entry of a batch."""

    code: str
    message: str


class Failed(TypedDict):
    """The answer of an entry that was not done."""

    error: EntryError


class ErrorBody(EntryError):
    """What is wrong with a request, and what to do about it."""

    hint: NotRequired[str]
    details: NotRequired[dict[str, Any]]
    request_id: str


class ErrorAnswer(TypedDict):
    """The body of every refusal."""

    error: ErrorBody


class QueueError(Exception):
    """Something that is our fault: the request may be right and is worth reporting."""

    status = 500
    code = "internal_error"
    hint: str | None = "Try again; if it happens again, report the request_id."
    retry_after: int | None = None

    def __init__(self, message: str, *, hint: str | None = None, retry_after: int | None = None, **details: Any):
        super().__init__(message)
        self.hint = hint or self.hint
        self.retry_after = retry_after or self.retry_after
        self.details = details

    def to_wire(self, request_id: str) -> ErrorAnswer:
        """The answer's body; hint and details are left out when there is nothing to say."""
        body = ErrorBody(code=self.code, message=_masked(str(self)), request_id=request_id)
        if self.hint:
            body["hint"] = self.hint
        if self.details:
            body["details"] = {name: _masked(value) for name, value in self.details.items()}
        return {"error": body}

    def to_entry(self) -> EntryError:
        """The error of one entry in a batch that is answered as a whole."""
        return {"code": self.code, "message": _masked(str(self))}


def _masked(value: Any) -> Any:
    """What is said of a request, without a key that stood where none belongs."""
    return _KEY.sub(r"\1…", value) if isinstance(value, str) else value


class InvalidInput(QueueError):
    """A field is missing, unknown, of a wrong type or out of its range."""

    status = 400
    code = "invalid_input"
    hint: str | None = None


class ReceiptInvalid(InvalidInput):
    """The receipt handle is not one that a receive of this queue gave."""

    code = "receipt_invalid"
    hint = "Pass the receipt_handle of a message received from this queue, unchanged."


class ReceiptExpired(InvalidInput):
    """The lease that the receipt handle stands for is over."""

    code = "receipt_expired"
    hint = "The message is on its way to another receive; receive it again, and extend the lease while you work on it."


class Unauthorized(QueueError):
    """The key is missing, malformed, unknown or revoked: one answer for all four."""

    status = 401
    code = "unauthorized"
    hint = "Send a valid key in the header 'Authorization: Bearer nv_sk_live_…'."


class Forbidden(QueueError):
    """The key is sealed to a user, and the operation is the company's."""

    status = 403
    code = "forbidden"
    hint = "Use a key of the company that is not sealed to a user."


class KeySubjectMismatch(QueueError):
    """A key that is sealed to one user named another."""

    status = 403
    code = "key_subject_mismatch"
    hint = "Leave the user out of the path and of X-Naive-User-Id, or use a key that is not sealed."


class NotFound(QueueError):
    """It does not exist, or not for this caller: the answer never tells which."""

    status = 404
    code = "not_found"
    hint = None

    def __init__(self, message: str = "no such user or resource", *, hint: str | None = None):
        super().__init__(message, hint=hint)


class AlreadyExists(QueueError):
    """The name is taken; details.id says by what."""

    status = 409
    code = "already_exists"
    hint = "Use the one that details.id names, or choose another name."


class Conflict(QueueError):
    """The request is right, but not in this state; details.reason says which."""

    status = 409
    code = "conflict"
    hint = None


class IdempotencyMismatch(QueueError):
    """An Idempotency-Key was repeated with another body."""

    status = 409
    code = "idempotency_mismatch"
    hint = "Use a new key for a new request; repeat a request with the very bytes of its first body."


class PurgeInProgress(QueueError):
    """The queue was purged less than a minute ago."""

    status = 409
    code = "purge_in_progress"
    hint = "A queue can be purged once a minute; wait as long as Retry-After says."


class RequestInProgress(QueueError):
    """The same is being done by another request at this moment."""

    status = 409
    code = "request_in_progress"
    hint = "Wait as long as Retry-After says, then ask again."


class PayloadTooLarge(QueueError):
    """A message or a request is larger than the limit; nothing of it was stored."""

    status = 413
    code = "payload_too_large"
    hint = "Store the data elsewhere and send a reference to it."


QUOTA_SECONDS = 300
"""When to come again after the refusal of more things than one may have: not soon, since waiting alone frees nothing.
Clients that wait for a minute at most say so at once."""


class RateLimited(QueueError):
    """More was asked than is one caller's fair share; nothing was done."""

    status = 429
    code = "rate_limited"
    hint = "Wait as long as Retry-After says, then ask again; ask the operator for more if it happens often."

    def __init__(self, message: str, *, limit: int, remaining: int = 0, reset: int, hint: str | None = None):
        """`limit` is the number that was exceeded, `remaining` what is left of it until `reset` seconds from now."""
        super().__init__(message, hint=hint, retry_after=max(1, reset))
        self.limit, self.remaining, self.reset = limit, remaining, max(1, reset)


class Unavailable(QueueError):
    """A service that we depend on throttles, hangs or is down."""

    status = 503
    code = "unavailable"
    hint = "Nothing is wrong with the request; repeat it after Retry-After seconds."
    retry_after = 2
