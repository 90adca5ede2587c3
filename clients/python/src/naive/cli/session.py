"""From a command's flags to a client, and from what the user typed to a queue."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from naive.cli import acting, config
from naive.errors import NotFoundError

if TYPE_CHECKING:
    from naive.blocking.client import Naive, UserClient
    from naive.models import Queue

Result = TypeVar("Result")

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def connect(user: str | None, base_url: str | None) -> UserClient:
    """A client for the settings in force."""
    settings = config.settings(user, base_url)
    client = client_for(settings)
    acting.begin(settings.acting)
    return client if settings.acting is None else client.for_user(settings.acting.user_id)


def connect_company(base_url: str | None) -> Naive:
    """A client for what is the company's, whoever the active user is."""
    return client_for(config.settings(None, base_url))


def client_for(settings: config.Settings) -> Naive:
    """A client with this key for this address."""
    from naive.blocking.client import Naive  # here, so that help and completion do not wait for the HTTP client to load

    return Naive(settings.api_key, settings.base_url)


@contextmanager
def hinting(where: str) -> Iterator[None]:
    """Say in this block where to look for the thing that is not there, unless the answer knows more."""
    try:
        yield
    except NotFoundError as missing:
        missing.hint = missing.hint or where
        raise


def known_user() -> AbstractContextManager[None]:
    """Say in this block where to look for the user that is not there."""
    return hinting("`naive users list` shows those there are.")


def for_queue(client: UserClient, typed: str, call: Callable[[str], Result]) -> Result:
    """What a call gives for the queue that was typed as an id or a name; a name may have the form of an id."""
    if _ID.fullmatch(typed):
        with suppress(NotFoundError):
            return call(typed)
    return call(_named(client, typed).id)


def for_service(client: UserClient, typed: str, call: Callable[[str], Result]) -> Result:
    """The same for a service."""
    if _ID.fullmatch(typed):
        with suppress(NotFoundError):
            return call(typed)
    found = client.compute.list(name=typed).services
    if not found:
        raise _nothing_called(typed, "service", "`naive compute list`")
    return call(found[0].id)


def whole_queue(client: UserClient, typed: str) -> Queue:
    """The queue that was typed as an id or a name, with all that is known of it."""
    if _ID.fullmatch(typed):
        with suppress(NotFoundError):
            return client.queue.get(typed)
    return _named(client, typed)


def _named(client: UserClient, typed: str) -> Queue:
    found = client.queue.list(name=typed).queues
    if not found:
        raise _nothing_called(typed, "queue", "`naive queue list`")
    return found[0]


def _nothing_called(typed: str, noun: str, where: str) -> NotFoundError:
    whose = acting.current()
    among = f" among those of user {whose.user_id}, whom {whose.named_by}" if whose else ""
    return NotFoundError(f"No {noun} is called {typed!r}{among}.", hint=f"{where} shows those there are.")
