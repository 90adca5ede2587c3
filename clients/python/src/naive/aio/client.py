"""The asynchronous client: where a program starts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType

import httpx

from naive.aio.compute import AsyncCompute
from naive.aio.connection import AsyncConnection
from naive.aio.keys import AsyncKeys
from naive.aio.queues import AsyncQueues
from naive.aio.users import AsyncUsers
from naive.calls import ids
from naive.calls.call import mount
from naive.calls.ids import UserRef
from naive.server import api_key_or_default, base_url_or_default


class AsyncUserClient:
    """Everything that one user of the company has."""

    queue: AsyncQueues
    """Queues, their messages and their consumers."""
    compute: AsyncCompute
    """Services, which are workers that the service runs."""

    def __init__(self, connection: AsyncConnection, user_id: str | None) -> None:
        self._connection = connection
        self.queue = AsyncQueues(connection, mount(user_id))
        self.compute = AsyncCompute(connection, mount(user_id))


class AsyncNaive(AsyncUserClient):
    """A client for one API key; safe to share between tasks.

    It acts for the user that the key is sealed to, or else for the company's default user; `for_user` names
    another. `users` and `keys` are the company's, whoever it acts for.
    """

    users: AsyncUsers
    """The company's users."""
    keys: AsyncKeys
    """The company's keys."""

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        connection = AsyncConnection(api_key_or_default(api_key), base_url_or_default(base_url), transport, sleep)
        super().__init__(connection, user_id=None)
        self.users = AsyncUsers(connection)
        self.keys = AsyncKeys(connection)

    def for_user(self, user_id: UserRef) -> AsyncUserClient:
        """The same client, acting for this user; what is no id, such as None, is an error."""
        return AsyncUserClient(self._connection, ids.user_id(user_id))

    async def close(self) -> None:
        """Close the connections to the server."""
        await self._connection.close()

    async def __aenter__(self) -> AsyncNaive:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
