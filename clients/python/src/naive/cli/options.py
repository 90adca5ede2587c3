"""Arguments and options that many commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from naive.cli.words import key_in


def filled_in(value: str | None) -> str | None:
    """What was given for a parameter; an empty value is an unset shell variable, and not the wish for a default.

    An API key is refused: it would go into an address, and so into logs.
    """
    if value == "":
        raise typer.BadParameter("it is empty, perhaps an unset shell variable.")
    try:
        (value or "").encode()
    except UnicodeEncodeError:
        raise typer.BadParameter(f"{value!r} is not UTF-8.") from None
    if key_in(value or ""):
        raise typer.BadParameter("it is an API key, which no command takes as an argument.")
    return value


def all_filled_in(values: Any) -> Any:  # a list of str, which Typer on Python 3.10 cannot read here
    for value in values:
        filled_in(value)
    return values


QueueArgument = Annotated[str, typer.Argument(metavar="QUEUE", callback=filled_in, help="The queue's id or name.")]
ServiceArgument = Annotated[
    str, typer.Argument(metavar="SERVICE", callback=filled_in, help="The service's id or name.")
]
HandleArgument = Annotated[
    str,
    typer.Argument(metavar="RECEIPT_HANDLE", callback=filled_in, help="The message's handle, as `receive` gave it."),
]
HandlesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="RECEIPT_HANDLE", callback=all_filled_in, help="The messages' handles, as `receive` gave them."
    ),
]

UserArgument = Annotated[str, typer.Argument(metavar="USER_ID", callback=filled_in, help="The user's id, or default.")]

Limit = Annotated[int, typer.Option("--limit", metavar="N", help="How many at most, 1 to 100.")]
Cursor = Annotated[str | None, typer.Option("--cursor", callback=filled_in, help="Go on where an earlier list ended.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the API's own JSON, as when piped.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
User = Annotated[
    str | None,
    typer.Option("--user", metavar="ID", callback=filled_in, help="Act for this user instead of the active one."),
]
BaseUrl = Annotated[
    str | None,
    typer.Option("--base-url", metavar="URL", callback=filled_in, help="The API's address instead of the stored one."),
]
