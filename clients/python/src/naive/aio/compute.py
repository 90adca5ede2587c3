"""Compute services, the workers of queues: the calls of `naive.compute`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from naive.aio.connection import AsyncConnection
from naive.calls import compute as calls
from naive.calls.ids import QueueRef, ServiceRef
from naive.models import LogPage, Service, ServicePage


class AsyncCompute:
    """One user's services. A service is named by its id, as text or as a UUID, or by the `Service` itself."""

    def __init__(self, connection: AsyncConnection, mount: str) -> None:
        self._connection = connection
        self._mount = mount

    async def create(
        self,
        name: str,
        *,
        image: str,
        type: str = "service",
        command: Sequence[str] | None = None,
        cpu: int | None = None,
        memory: int | None = None,
        env: Mapping[str, str] | None = None,
        queue_id: QueueRef | None = None,
    ) -> Service:
        """Make a service of a container image; what is left out is the server's default.

        With a `queue_id` it works for that queue: it is at 0 while the queue is idle, and a send wakes it.
        Without one it starts at once.
        """
        return await self._connection.run(
            calls.create_service(self._mount, name, type, image, command, cpu, memory, env, queue_id)
        )

    async def list(
        self, *, limit: int | None = None, cursor: str | None = None, name: str | None = None
    ) -> ServicePage:
        """One page of services by name, or with `name` the one that is called so."""
        return await self._connection.run(calls.list_services(self._mount, limit, cursor, name))

    def list_all(self, *, limit: int | None = None) -> AsyncIterator[Service]:
        """Every service, asked for page by page of up to `limit` as they are taken."""
        return self._connection.entries(lambda cursor: calls.list_services(self._mount, limit, cursor, None))

    async def get(self, service: ServiceRef) -> Service:
        """A service, with how many workers are wanted and there."""
        return await self._connection.run(calls.get_service(self._mount, service))

    async def start(self, service: ServiceRef) -> Service:
        """Let a service run: with a queue its consumer is resumed, without one it gets a worker."""
        return await self._connection.run(calls.start_service(self._mount, service))

    async def stop(self, service: ServiceRef) -> Service:
        """Let a service rest: it goes to 0, and the consumer of its queue is paused."""
        return await self._connection.run(calls.stop_service(self._mount, service))

    async def scale(self, service: ServiceRef, count: int) -> Service:
        """Let a service without a queue have so many workers."""
        return await self._connection.run(calls.scale_service(self._mount, service, count))

    async def logs(self, service: ServiceRef, *, limit: int | None = None, cursor: str | None = None) -> LogPage:
        """Up to `limit` lines that its workers wrote, from the first or from the `cursor` on."""
        return await self._connection.run(calls.service_logs(self._mount, service, limit, cursor))

    async def destroy(self, service: ServiceRef) -> None:
        """Delete a service with its key; the consumer of its queue ends with it."""
        await self._connection.run(calls.destroy_service(self._mount, service))
