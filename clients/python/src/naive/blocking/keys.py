# Generated from naive/aio/keys.py by `make blocking`: a change belongs there.
"""The company's API keys: the calls of `naive.keys`."""

from __future__ import annotations

from collections.abc import Iterator

from naive.blocking.connection import Connection
from naive.calls import keys as calls
from naive.calls.ids import KeyRef, UserRef
from naive.models import Key, KeyPage, NewKey


class Keys:
    """The API keys of a company. A key that is sealed to a user can do nothing here."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(self, name: str, *, active_tenant_user_id: UserRef | None = None) -> NewKey:
        """Make a key, sealed to a user if one is named; its `api_key` is shown this once.

        A `SecretLostError` means that the key was made and its only showing was lost on the way.
        """
        return self._connection.run(calls.create_key(name, active_tenant_user_id))

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> KeyPage:
        """One page of keys, revoked ones too; no key itself is shown again."""
        return self._connection.run(calls.list_keys(limit, cursor))

    def list_all(self, *, limit: int | None = None) -> Iterator[Key]:
        """Every key, asked for page by page of up to `limit` as they are taken."""
        return self._connection.entries(lambda cursor: calls.list_keys(limit, cursor))

    def revoke(self, key_id: KeyRef) -> None:
        """Make a key, named by its id or by the `Key` itself, good for nothing within five seconds."""
        self._connection.run(calls.revoke_key(key_id))
