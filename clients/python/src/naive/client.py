"""The client: where a program starts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import TracebackType

import httpx

from naive.calls import ids
from naive.calls.call import mount
from naive.calls.ids import UserRef
from naive.connection import Connection
from naive.constants import API_KEY_VARIABLE, BASE_URL_VARIABLE
from naive.errors import ConfigurationError
from naive.keys import Keys
from naive.queues import Queues
from naive.users import Users


class UserClient:
    """Everything that one user of the company has."""

    def __init__(self, connection: Connection, user_id: str | None) -> None:
        self._connection = connection
        self.queue = Queues(connection, mount(user_id))


class Naive(UserClient):
    """A client for one API key; safe to share between threads.

    It acts for the user that the key is sealed to, or else for the company's default user; `for_user` names
    another. `users` and `keys` are the company's, whoever it acts for.
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        key = _from_environment(API_KEY_VARIABLE, "API key") if api_key is None else api_key
        url = _from_environment(BASE_URL_VARIABLE, "base URL") if base_url is None else base_url
        connection = Connection(key, url, transport, sleep)
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


def _from_environment(variable: str, what: str) -> str:
    value = os.environ.get(variable)
    if not value:
        raise ConfigurationError(f"There is no {what}.", hint=f"Pass one, or set {variable}.")
    return value
