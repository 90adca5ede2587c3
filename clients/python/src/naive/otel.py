"""Traces that go on from who sends a message to who works on it: `from naive.otel import traced`.

It needs the extra `otel`, which is OpenTelemetry's API. How a context is written, and where spans go, is your program's
own set-up of OpenTelemetry.
"""

from __future__ import annotations

from typing import overload

from naive.aio.queues import AsyncQueues
from naive.aio.tracing import AsyncTracedQueues
from naive.blocking.queues import Queues
from naive.blocking.tracing import TracedQueues

__all__ = ["traced"]


@overload
def traced(queues: Queues) -> Queues: ...


@overload
def traced(queues: AsyncQueues) -> AsyncQueues: ...


def traced(queues: Queues | AsyncQueues) -> Queues | AsyncQueues:
    """The same calls as those of `naive.queue`, traced.

    `send` and `send_batch` are spans whose context travels in the messages' attributes, and each message that `consume`
    hands to its handler is a span that follows the one that sent it. An attribute that is there already is never
    replaced, and where a message has ten there is no room for the context.
    """
    return AsyncTracedQueues(queues) if isinstance(queues, AsyncQueues) else TracedQueues(queues)
