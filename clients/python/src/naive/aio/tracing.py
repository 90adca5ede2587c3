"""Queues whose messages carry a trace; `naive.otel.traced` makes them."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from functools import partial

from naive import spans
from naive.aio.either import each, tell
from naive.aio.queues import AsyncQueues
from naive.aio.sending import OnResult
from naive.calls.ids import QueueRef
from naive.consumer.delivery import Around
from naive.models import NewMessage, Queue, SendResult, SentBatch, SentMessage


class AsyncTracedQueues(AsyncQueues):
    """The same calls, with spans."""

    def __init__(self, queues: AsyncQueues) -> None:
        super().__init__(queues._connection, queues._mount)

    async def send(
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
            sent = await super().send(
                queue,
                body,
                group_id=group_id,
                dedup_id=dedup_id,
                delay_seconds=delay_seconds,
                attributes=spans.with_context(attributes),
            )
            span.set_attribute(spans.MESSAGE_ID, sent.message_id)
            return sent

    async def send_batch(
        self,
        queue: QueueRef,
        messages: Iterable[NewMessage] | AsyncIterable[NewMessage],
        *,
        on_result: OnResult | None = None,
    ) -> SentBatch:
        """Send messages, all of which carry the context of one span."""
        given: deque[NewMessage] = deque()  # those whose results are not told yet, as they were without a context

        async def carrying() -> AsyncIterator[NewMessage]:
            async for message in each(messages):
                if on_result:
                    given.append(message)
                yield spans.carrying(message)

        async def told(message: NewMessage, result: SendResult) -> None:
            if on_result:
                await tell(on_result, given.popleft(), result)

        with spans.sending(queue) as span:
            batch = await super().send_batch(queue, carrying(), on_result=told if on_result else None)
            span.set_attribute(spans.MESSAGE_COUNT, batch.sent + batch.failed)
            return batch

    def _around(self, queue: Queue) -> Around:
        return partial(spans.processing, queue)
