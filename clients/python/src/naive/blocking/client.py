# Generated from naive/aio/client.py by `make blocking`: a change belongs there.
"""The blocking client: where a program starts."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

import httpx

from naive.blocking.compute import Compute
from naive.blocking.connection import Connection
from naive.blocking.keys import Keys
from naive.blocking.queues import Queues
from naive.blocking.users import Users
from naive.calls import ids
from naive.calls.call import mount
from naive.calls.ids import UserRef
from naive.server import api_key_or_default, base_url_or_default


class UserClient:
    """Everything that one user of the company has."""

    queue: Queues
    """Queues, their messages and their consumers."""
    compute: Compute
    """Services, which are workers that the service runs."""

    def __init__(self, connection: Connection, user_id: str | None) -> None:
        self._connection = connection
        self.queue = Queues(connection, mount(user_id))
        self.compute = Compute(connection, mount(user_id))


class Naive(UserClient):
    """A client for one API key; safe to share between threads.

    It acts for the user that the key is sealed to, or else for the company's default user; `for_user` names
    another. `users` and `keys` are the company's, whoever it acts for.
    """

    users: Users
    """The company's users."""
    keys: Keys
    """The company's keys."""

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        connection = Connection(api_key_or_default(api_key), base_url_or_default(base_url), transport, sleep)
        super().__init__(connection, user_id=None)
        self.users = Users(connection)
        self.keys = Keys(connection)

    def for_user(self, user_id: UserRef) -> UserClient:
        """The same client, acting for this user; what is no id, such as None, is an error."""
        return UserClient(self._connection, ids.user_id(user_id))

    def close(self) -> None:
        """Close the connections to the server."""
        self._connection.close()

    def __enter__(self) -> Naive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
