# Generated from naive/aio/tracing.py by `make blocking`: a change belongs there.
"""Queues whose messages carry a trace; `naive.otel.traced` makes them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from naive import spans
from naive.blocking.queues import Queues
from naive.blocking.sending import OnResult
from naive.calls.ids import QueueRef
from naive.consumer.delivery import Around
from naive.models import NewMessage, Queue, SendResult, SentBatch, SentMessage


class TracedQueues(Queues):
    """The same calls, with spans."""

    def __init__(self, queues: Queues) -> None:
        super().__init__(queues._connection, queues._mount)

    def send(
        self,
        queue: QueueRef,
        body: str,
        *,
        group_id: str | None = None,
        dedup_id: str | None = None,
        delay_seconds: int | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> SentMessage:
        """Send one message, which carries the context of its span."""
        with spans.sending(queue) as span:
            sent = super().send(
                queue,
                body,
                group_id=group_id,
                dedup_id=dedup_id,
                delay_seconds=delay_seconds,
                attributes=spans.with_context(attributes),
            )
            span.set_attribute(spans.MESSAGE_ID, sent.message_id)
            return sent

    def send_batch(
        self,
        queue: QueueRef,
        messages: Iterable[NewMessage],
        *,
        on_result: OnResult | None = None,
    ) -> SentBatch:
        """Send messages, all of which carry the context of one span."""
        given: deque[NewMessage] = deque()  # those whose results are not told yet, as they were without a context

        def carrying() -> Iterator[NewMessage]:
            for message in messages:
                if on_result:
                    given.append(message)
                yield spans.carrying(message)

        def told(message: NewMessage, result: SendResult) -> None:
            if on_result:
                on_result(given.popleft(), result)

        with spans.sending(queue) as span:
            batch = super().send_batch(queue, carrying(), on_result=told if on_result else None)
            span.set_attribute(spans.MESSAGE_COUNT, batch.sent + batch.failed)
            return batch

    def _around(self, queue: Queue) -> Around:
        return partial(spans.processing, queue)
