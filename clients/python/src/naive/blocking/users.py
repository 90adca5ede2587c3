# Generated from naive/aio/users.py by `make blocking`: a change belongs there.
"""The company's users: the calls of `naive.users`."""

from __future__ import annotations

from collections.abc import Iterator

from naive.blocking.connection import Connection
from naive.calls import users as calls
from naive.calls.ids import UserRef
from naive.models import User, UserPage


class Users:
    """The end-users of a company, each named by its id, as text or as a UUID, or by the `User` itself.

    A key that is sealed to a user can `get` that one and nothing else here.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(self, *, external_id: str | None = None, email: str | None = None, label: str | None = None) -> User:
        """Make a user; `external_id` is your own id for it, and no two users of the company have the same."""
        return self._connection.run(calls.create_user(external_id, email, label))

    def list(self, *, limit: int | None = None, cursor: str | None = None, external_id: str | None = None) -> UserPage:
        """One page of users, or with `external_id` the one that you know by it."""
        return self._connection.run(calls.list_users(limit, cursor, external_id))

    def list_all(self, *, limit: int | None = None) -> Iterator[User]:
        """Every user, asked for page by page of up to `limit` as they are taken."""
        return self._connection.entries(lambda cursor: calls.list_users(limit, cursor, None))

    def get(self, user_id: UserRef) -> User:
        """A user; `default` is the one that a call without a user acts for."""
        return self._connection.run(calls.get_user(user_id))

    def update(
        self, user_id: UserRef, *, external_id: str | None = None, email: str | None = None, label: str | None = None
    ) -> User:
        """Change what is known of a user; what is left out stays."""
        return self._connection.run(calls.update_user(user_id, external_id, email, label))

    def delete(self, user_id: UserRef, *, force: bool = False) -> None:
        """Delete a user; one that still has anything only with `force`, and then all that it has."""
        self._connection.run(calls.delete_user(user_id, force))
