"""What works a queue off by itself: the calls of `naive.queue.consumer`."""

from __future__ import annotations

from naive.aio.connection import AsyncConnection
from naive.calls import consumers as calls
from naive.calls.ids import QueueRef, ServiceRef
from naive.models import Consumer, ConsumerType, NewConsumer


class AsyncConsumers:
    """The consumers of one user's queues, of which each has at most one."""

    def __init__(self, connection: AsyncConnection, mount: str) -> None:
        self._connection = connection
        self._mount = mount

    async def set(
        self,
        queue: QueueRef,
        *,
        type: ConsumerType,
        function: str | None = None,
        url: str | None = None,
        service_id: ServiceRef | None = None,
        batch_size: int | None = None,
        max_concurrency: int | None = None,
        min: int | None = None,
        max: int | None = None,
        messages_per_worker: int | None = None,
        idle_seconds: int | None = None,
    ) -> NewConsumer:
        """Have a `function`, a webhook at a `url` or a service work the queue off.

        The first two take `batch_size` and `max_concurrency`, a service the other numbers. A webhook's `secret`,
        for `naive.webhooks.verify`, is shown this once; a `SecretLostError` means that its only showing was lost.
        """
        return await self._connection.run(
            calls.set_consumer(
                self._mount,
                queue,
                type,
                function,
                url,
                service_id,
                batch_size,
                max_concurrency,
                min,
                max,
                messages_per_worker,
                idle_seconds,
            )
        )

    async def get(self, queue: QueueRef) -> Consumer:
        """The consumer of a queue; a `NotFoundError` says that it has none."""
        return await self._connection.run(calls.get_consumer(self._mount, queue))

    async def update(
        self,
        queue: QueueRef,
        *,
        batch_size: int | None = None,
        max_concurrency: int | None = None,
        min: int | None = None,
        max: int | None = None,
        messages_per_worker: int | None = None,
        idle_seconds: int | None = None,
        paused: bool | None = None,
    ) -> Consumer:
        """Change a consumer's numbers, pause or resume it; what is left out stays."""
        return await self._connection.run(
            calls.update_consumer(
                self._mount, queue, batch_size, max_concurrency, min, max, messages_per_worker, idle_seconds, paused
            )
        )

    async def pause(self, queue: QueueRef) -> Consumer:
        """Let messages wait on the queue until the consumer is resumed."""
        return await self.update(queue, paused=True)

    async def resume(self, queue: QueueRef) -> Consumer:
        """Let the consumer go on."""
        return await self.update(queue, paused=False)

    async def remove(self, queue: QueueRef) -> None:
        """Let nothing work the queue off any more; its messages stay."""
        await self._connection.run(calls.remove_consumer(self._mount, queue))
