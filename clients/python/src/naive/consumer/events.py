"""What happens in a loop, for metrics and logs, and the sums of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from naive.consumer.delivery import Delivery

EventKind = Literal["received", "started", "done", "failed", "given_back", "extended", "lost", "api_error"]

log = logging.getLogger("naive")


@dataclass(frozen=True)
class Event:
    """One thing that happened. Every message that was `received` ends as `done`, `given_back` or `lost`, once."""

    kind: EventKind
    message: Delivery | None = None
    """Whose event it is; nobody's is an `api_error`."""
    seconds: float | None = None
    """How long the handler took, once it has ended."""
    delay_seconds: int | None = None
    """How long a message that was given back stays hidden."""
    error: BaseException | None = None
    """What the handler raised, or what a call failed with."""


Hook = Callable[[Event], object]


@dataclass
class Counts:
    """How often each thing happened in a loop that has ended."""

    received: int = 0
    started: int = 0
    done: int = 0
    """Handled and acked."""
    failed: int = 0
    """Handlers that raised something else than `Retry`; their messages are among those given back or lost."""
    given_back: int = 0
    extended: int = 0
    lost: int = 0
    """Leases that ended before the message was done or given back."""
    api_errors: int = 0
    unfinished: int = 0
    """Handlers that were not waited for: their messages were given back while they ran."""

    def add(self, event: Event) -> None:
        """Count an event."""
        name = "api_errors" if event.kind == "api_error" else event.kind
        setattr(self, name, getattr(self, name) + 1)


def write_log(event: Event) -> None:
    """Log what somebody has to know of; the rest is for those who debug."""
    message_id = event.message.message_id if event.message else None
    if event.kind == "api_error":
        log.warning("A call failed: %s", event.error)
    elif event.kind == "failed":
        log.error("The handler failed on message %s", message_id, exc_info=event.error)
    elif event.kind == "lost":
        log.warning("The lease of message %s ended before its work was settled", message_id)
    else:
        log.debug("%s: message %s", event.kind, message_id)
