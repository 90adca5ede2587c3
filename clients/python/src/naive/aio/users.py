"""The company's users: the calls of `naive.users`."""

from __future__ import annotations

from collections.abc import AsyncIterator

from naive.aio.connection import AsyncConnection
from naive.calls import users as calls
from naive.calls.ids import UserRef
from naive.models import User, UserPage


class AsyncUsers:
    """The end-users of a company, each named by its id, as text or as a UUID, or by the `User` itself.

    A key that is sealed to a user can `get` that one and nothing else here.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def create(
        self, *, external_id: str | None = None, email: str | None = None, label: str | None = None
    ) -> User:
        """Make a user; `external_id` is your own id for it, and no two users of the company have the same."""
        return await self._connection.run(calls.create_user(external_id, email, label))

    async def list(
        self, *, limit: int | None = None, cursor: str | None = None, external_id: str | None = None
    ) -> UserPage:
        """One page of users, or with `external_id` the one that you know by it."""
        return await self._connection.run(calls.list_users(limit, cursor, external_id))

    def list_all(self, *, limit: int | None = None) -> AsyncIterator[User]:
        """Every user, asked for page by page of up to `limit` as they are taken."""
        return self._connection.entries(lambda cursor: calls.list_users(limit, cursor, None))

    async def get(self, user_id: UserRef) -> User:
        """A user; `default` is the one that a call without a user acts for."""
        return await self._connection.run(calls.get_user(user_id))

    async def update(
        self, user_id: UserRef, *, external_id: str | None = None, email: str | None = None, label: str | None = None
    ) -> User:
        """Change what is known of a user; what is left out stays."""
        return await self._connection.run(calls.update_user(user_id, external_id, email, label))

    async def delete(self, user_id: UserRef, *, force: bool = False) -> None:
        """Delete a user; one that still has anything only with `force`, and then all that it has."""
        await self._connection.run(calls.delete_user(user_id, force))
