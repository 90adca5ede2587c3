"""Arguments and options that many commands share."""

from __future__ import annotations

from typing import Annotated

import typer

_SHORTEST_HANDLE = 24


def _refuse_options(handle: str) -> str:
    """A handle may start with a dash, so unknown options come as handles: a short one is a misspelt option."""
    if handle.startswith("-") and len(handle) < _SHORTEST_HANDLE:
        raise typer.BadParameter(f"no such option: {handle}")
    return handle


def _refuse_options_among(handles: list[str]) -> list[str]:
    return [_refuse_options(handle) for handle in handles]


# For commands that take handles; they must not have options of one letter either.
TAKES_HANDLES = {"ignore_unknown_options": True}

QueueArgument = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's id or name.")]
HandleArgument = Annotated[
    str,
    typer.Argument(
        metavar="RECEIPT_HANDLE", callback=_refuse_options, help="The message's handle, as `receive` gave it."
    ),
]
HandlesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="RECEIPT_HANDLE", callback=_refuse_options_among, help="The messages' handles, as `receive` gave them."
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print the API's own JSON, as when piped.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
User = Annotated[str | None, typer.Option("--user", metavar="ID", help="Act for this user instead of the active one.")]
BaseUrl = Annotated[
    str | None, typer.Option("--base-url", metavar="URL", help="The API's address instead of the stored one.")
]
