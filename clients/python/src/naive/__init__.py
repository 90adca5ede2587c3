"""Client for durable work queues over HTTPS: `from naive import Naive`."""

from __future__ import annotations

from importlib import import_module

from naive.constants import VERSION as __version__

# Not the one of `typing`, whose import is slow: until it is over the command line cannot answer to Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from naive.client import Naive, UserClient
    from naive.consumer.delivery import Delivery, Retry
    from naive.consumer.events import Counts, Event
    from naive.consumer.stop import Stop
    from naive.errors import (
        AlreadyExistsError,
        ApiError,
        BadRequestError,
        ConfigurationError,
        ConflictError,
        ForbiddenError,
        IdempotencyMismatchError,
        InternalError,
        InvalidInputError,
        KeySubjectMismatchError,
        NaiveError,
        NoAnswerError,
        NotFoundError,
        PayloadTooLargeError,
        PurgeInProgressError,
        RateLimitedError,
        ReceiptExpiredError,
        ReceiptInvalidError,
        RequestInProgressError,
        SecretLostError,
        ServerError,
        UnauthorizedError,
        UnavailableError,
        UnexpectedAnswerError,
        UnreachableError,
    )
    from naive.models import (
        DeadLetter,
        DeadLetters,
        EntryError,
        ExtendEntry,
        Key,
        KeyPage,
        Lease,
        Message,
        NewKey,
        NewMessage,
        Purging,
        Queue,
        QueueAttributes,
        QueuePage,
        Received,
        Redriven,
        RetryEntry,
        SendResult,
        SentBatch,
        SentMessage,
        Settled,
        SettleResult,
        User,
        UserPage,
    )

__all__ = [
    "AlreadyExistsError",
    "ApiError",
    "BadRequestError",
    "ConfigurationError",
    "ConflictError",
    "Counts",
    "DeadLetter",
    "DeadLetters",
    "Delivery",
    "EntryError",
    "Event",
    "ExtendEntry",
    "ForbiddenError",
    "IdempotencyMismatchError",
    "InternalError",
    "InvalidInputError",
    "Key",
    "KeyPage",
    "KeySubjectMismatchError",
    "Lease",
    "Message",
    "Naive",
    "NaiveError",
    "NewKey",
    "NewMessage",
    "NoAnswerError",
    "NotFoundError",
    "PayloadTooLargeError",
    "PurgeInProgressError",
    "Purging",
    "Queue",
    "QueueAttributes",
    "QueuePage",
    "RateLimitedError",
    "ReceiptExpiredError",
    "ReceiptInvalidError",
    "Received",
    "Redriven",
    "RequestInProgressError",
    "Retry",
    "RetryEntry",
    "SecretLostError",
    "SendResult",
    "SentBatch",
    "SentMessage",
    "ServerError",
    "SettleResult",
    "Settled",
    "Stop",
    "UnauthorizedError",
    "UnavailableError",
    "UnexpectedAnswerError",
    "UnreachableError",
    "User",
    "UserClient",
    "UserPage",
    "__version__",
]


_HOMES = (
    "naive.errors",
    "naive.client",
    "naive.models",
    "naive.consumer.delivery",
    "naive.consumer.events",
    "naive.consumer.stop",
)


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: the command line's help and completion need no HTTP client."""
    if name in __all__:
        for home in _HOMES:
            module = import_module(home)
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
