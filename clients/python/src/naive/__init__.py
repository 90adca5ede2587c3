"""Client for durable work queues over HTTPS: `from naive import Naive`."""

from __future__ import annotations

from importlib import import_module

from naive.constants import VERSION as __version__

# Not the one of `typing`, whose import is slow: until it is over the command line cannot answer to Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from naive.aio.client import AsyncNaive, AsyncUserClient
    from naive.blocking.client import Naive, UserClient
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
        InvalidWebhookError,
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
        Consumer,
        DeadLetter,
        DeadLetters,
        EntryError,
        ExtendEntry,
        Key,
        KeyPage,
        Lease,
        LogLine,
        LogPage,
        Message,
        NewConsumer,
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
        Service,
        ServicePage,
        Settled,
        SettleResult,
        User,
        UserPage,
        WebhookMessage,
    )

__all__ = [
    "AlreadyExistsError",
    "ApiError",
    "AsyncNaive",
    "AsyncUserClient",
    "BadRequestError",
    "ConfigurationError",
    "ConflictError",
    "Consumer",
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
    "InvalidWebhookError",
    "Key",
    "KeyPage",
    "KeySubjectMismatchError",
    "Lease",
    "LogLine",
    "LogPage",
    "Message",
    "Naive",
    "NaiveError",
    "NewConsumer",
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
    "Service",
    "ServicePage",
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
    "WebhookMessage",
    "__version__",
]


# A program loads the client that it uses and not the other, and none where it needs an error or a model alone.
_CLIENTS = {
    "AsyncNaive": "naive.aio.client",
    "AsyncUserClient": "naive.aio.client",
    "Naive": "naive.blocking.client",
    "UserClient": "naive.blocking.client",
}
_HOMES = ("naive.errors", "naive.models", "naive.consumer.delivery", "naive.consumer.events", "naive.consumer.stop")


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: the command line's help and completion need no HTTP client."""
    if name in __all__:
        for home in (_CLIENTS[name],) if name in _CLIENTS else _HOMES:
            module = import_module(home)
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
