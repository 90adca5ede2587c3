"""`naive keys`: the API keys of the company."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from naive.cli import config, output
from naive.cli.options import AsJson, BaseUrl, Cursor, Limit, Yes, filled_in
from naive.cli.session import client_for, connect_company, hinting, known_user
from naive.cli.words import say
from naive.constants import MAX_PAGE

if TYPE_CHECKING:
    from naive.blocking.client import Naive

app = typer.Typer(help="The API keys of the company.", no_args_is_help=True, rich_markup_mode=None)


@app.command("create")
def create(
    name: Annotated[str, typer.Option("--name", callback=filled_in, help="What to know it by, up to 100 characters.")],
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="ID", callback=filled_in, help="Seal it to this user: it can act for no other."),
    ] = None,
    as_json: AsJson = False,
    base_url: BaseUrl = None,
) -> None:
    """Make a key and show it, this once.

    Without --user it acts for every user of the company and manages users and keys, also when there is an active
    user.

    \b
    Examples:
      naive keys create --name ci
      naive keys create --name worker-7 --user 6f1b7c1e-0b0a-4f5e-9d5c-2f6f3c1d7a10
      naive keys create --name laptop | jq -r .api_key | naive login
    """
    settings = config.settings(None, base_url)
    client = client_for(settings)
    if user is None and settings.acting:
        say(
            f"Note: This key is for the whole company, not only for the active user: add --user "
            f"{settings.acting.user_id} to seal it."
        )
    with known_user():
        key = client.keys.create(name, active_tenant_user_id=user)
    output.show(key, as_json)
    if not output.wants_json(as_json):
        say("The key is shown once: put it where it is safe now.")


@app.command("list")
def list_keys(
    limit: Limit = MAX_PAGE, cursor: Cursor = None, as_json: AsJson = False, base_url: BaseUrl = None
) -> None:
    """List keys, each by its name and its last four characters.

    \b
    Examples:
      naive keys list
      naive keys list --json | jq -r '.keys[] | select(.revoked | not) | .name'
    """
    output.show_page(connect_company(base_url).keys.list(limit=limit, cursor=cursor), as_json)


@app.command("revoke")
def revoke(
    key_id: Annotated[
        str, typer.Argument(metavar="KEY_ID", callback=filled_in, help="The key's id, as `list` shows it.")
    ],
    yes: Yes = False,
    base_url: BaseUrl = None,
) -> None:
    """Make a key good for nothing, for ever.

    Whoever uses it is refused within five seconds.

    \b
    Example:
      naive keys revoke 0c9d2c1b-7a5e-4b7e-8f43-5d1b1f0f6a55
    """
    client = connect_company(base_url)
    output.confirm(lambda: f"Revoke key {_known(client, key_id)}?", yes)
    with hinting("`naive keys list` shows those there are."):
        client.keys.revoke(key_id)
    say(f"Revoked {key_id}.")


def _known(client: Naive, key_id: str) -> str:
    """What a key is known by, for whoever is about to revoke it."""
    cursor = None
    while True:
        page = client.keys.list(limit=MAX_PAGE, cursor=cursor)
        for key in page:
            if key.key_id == key_id:
                return f"{key.name!r} that ends with {key.last_4} ({key_id})"
        cursor = page.next_cursor
        if cursor is None:
            return key_id
