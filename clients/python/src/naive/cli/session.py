"""From a command's flags to a client, and from what the user typed to a queue."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from naive.cli import config
from naive.errors import NotFoundError

if TYPE_CHECKING:
    from naive.client import UserClient
    from naive.models import Queue

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def connect(user: str | None, base_url: str | None) -> UserClient:
    """A client for the settings in force."""
    from naive.client import Naive  # here, so that help and completion do not wait for the HTTP client to load

    settings = config.settings(user, base_url)
    client = Naive(settings.api_key, settings.base_url)
    return client if settings.user_id is None else client.for_user(settings.user_id)


def queue_id(client: UserClient, typed: str) -> str:
    """The id of the queue that was typed as an id or a name."""
    return typed if _ID.fullmatch(typed) else _named(client, typed).id


def whole_queue(client: UserClient, typed: str) -> Queue:
    """The queue that was typed as an id or a name, with all that is known of it."""
    return client.queue.get(typed) if _ID.fullmatch(typed) else _named(client, typed)


def _named(client: UserClient, name: str) -> Queue:
    found = client.queue.list(name=name).queues
    if not found:
        raise NotFoundError(f"No queue is called {name!r}.", hint="`naive queue list` shows those there are.")
    return found[0]
