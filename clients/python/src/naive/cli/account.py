"""Who the command line is: `naive login` and `naive use`."""

from __future__ import annotations

import os
import sys

import typer

from naive.cli import config, output
from naive.cli.options import BaseUrl, UserArgument
from naive.cli.session import client_for, known_user
from naive.cli.streams import text_of_stdin
from naive.cli.words import say
from naive.constants import ACTIVE_USER_VARIABLE, API_KEY_VARIABLE
from naive.errors import (
    BadRequestError,
    ForbiddenError,
    NoAnswerError,
    NotFoundError,
    RateLimitedError,
    ServerError,
    UnreachableError,
)

# Later it may be otherwise; any other failure is here to stay.
_NOT_NOW = (UnreachableError, NoAnswerError, RateLimitedError, ServerError)


def login(base_url: BaseUrl = None) -> None:
    """Store an API key, read from a hidden prompt or from stdin.

    The key is never an argument, so it stays out of the shell's history and of the process list. The address is
    stored with it, and the active user is forgotten. Nothing is stored when the key is refused, or when what answers
    there is not this API.

    \b
    Examples:
      naive login --base-url https://api.example.com
      naive login < key.txt
    """
    asked = output.is_terminal(sys.stdin)
    stored = config.readable()
    key = typer.prompt("API key", hide_input=True, err=True) if asked else text_of_stdin()
    url = base_url or config.current_base_url(stored) or (typer.prompt("Base URL", err=True) if asked else None)
    config.store({**stored, "api_key": _checked(key, url), "base_url": url, "active_user_id": None})
    say(f"Stored in {config.path()}.")
    _warn_if_set(API_KEY_VARIABLE)


def use(user_id: UserArgument) -> None:
    """Act for one user of the company from now on.

    The user is looked up first. `default` or `me` goes back to the user that the key stands for.

    \b
    Examples:
      naive use 6f1b7c1e-0b0a-4f5e-9d5c-2f6f3c1d7a10
      naive use default
    """
    stored = config.load()
    user = config.named_user(user_id)
    if user is not None:
        _look_up(user, config.settings(None, None, stored))
    config.store({**stored, "active_user_id": user})
    say(f"Acting for user {user}." if user else "Acting for the key's own user, or the company's default user.")
    _warn_if_set(ACTIVE_USER_VARIABLE)


def _checked(key: str, url: str | None) -> str:
    """The key, tried once where an address is known; it fails when it is refused, or what answers is not this API."""
    from naive.answers import WRONG_ADDRESS
    from naive.blocking.client import Naive  # here, so that help and completion do not wait for the HTTP client to load
    from naive.server import usable_key

    usable = usable_key(key)
    if url is None:
        say("The key was not tried, since there is no base URL yet.")
        return usable
    try:
        with Naive(usable, url) as client:
            client.queue.list(limit=1)
    except _NOT_NOW as failure:
        say(f"The key could not be tried: {failure.message}")
    except (BadRequestError, ForbiddenError, NotFoundError) as stranger:  # this API refuses nobody its list that way
        stranger.hint = WRONG_ADDRESS
        raise
    return usable


def _look_up(user: str, settings: config.Settings) -> None:
    """Fail for a user that is not there, or not for this key; one that cannot be looked up now is let pass."""
    with client_for(settings) as client, known_user():
        try:
            client.users.get(user)
        except _NOT_NOW as failure:
            say(f"The user could not be looked up: {failure.message}")


def _warn_if_set(variable: str) -> None:
    if os.environ.get(variable):
        say(f"Note: {variable} is set in this shell and goes first.")
