"""`naive users`: the end-users of the company."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from naive.cli import config, output
from naive.cli.options import AsJson, BaseUrl, Cursor, Limit, UserArgument, Yes, filled_in
from naive.cli.session import client_for, connect_company, known_user
from naive.cli.words import say
from naive.constants import ACTIVE_USER_VARIABLE, MAX_PAGE
from naive.errors import AlreadyExistsError

if TYPE_CHECKING:
    from naive.models import User

app = typer.Typer(help="The end-users of the company.", no_args_is_help=True, rich_markup_mode=None)

ExternalId = Annotated[
    str | None,
    typer.Option("--external-id", metavar="ID", callback=filled_in, help="Your own id for the user; no two may share."),
]
Email = Annotated[
    str | None, typer.Option("--email", metavar="ADDRESS", callback=filled_in, help="The user's e-mail address.")
]
Label = Annotated[
    str | None, typer.Option("--label", metavar="TEXT", callback=filled_in, help="What you call the user.")
]


@app.command("create")
def create(
    external_id: ExternalId = None,
    email: Email = None,
    label: Label = None,
    as_json: AsJson = False,
    base_url: BaseUrl = None,
) -> None:
    """Make a user.

    \b
    Examples:
      naive users create
      naive users create --external-id 4711 --email ada@example.com --label Ada
    """
    client = connect_company(base_url)
    with _free_external_id():
        output.show(client.users.create(external_id=external_id, email=email, label=label), as_json)


@app.command("list")
def list_users(
    external_id: Annotated[
        str | None,
        typer.Option("--external-id", metavar="ID", callback=filled_in, help="Only the user that you know by this id."),
    ] = None,
    limit: Limit = MAX_PAGE,
    cursor: Cursor = None,
    as_json: AsJson = False,
    base_url: BaseUrl = None,
) -> None:
    """List users, or find one by your own id for it.

    \b
    Examples:
      naive users list
      naive users list --external-id 4711
      naive use "$(naive users list --external-id 4711 | jq -r '.users[].id')"
    """
    users = connect_company(base_url).users
    output.show_page(users.list(limit=limit, cursor=cursor, external_id=external_id), as_json)


@app.command("show")
def show(user_id: UserArgument, as_json: AsJson = False, base_url: BaseUrl = None) -> None:
    """Show a user.

    \b
    Examples:
      naive users show 6f1b7c1e-0b0a-4f5e-9d5c-2f6f3c1d7a10
      naive users show default
    """
    client = connect_company(base_url)
    with known_user():
        output.show(client.users.get(user_id), as_json)


@app.command("update")
def update(
    user_id: UserArgument,
    external_id: ExternalId = None,
    email: Email = None,
    label: Label = None,
    as_json: AsJson = False,
    base_url: BaseUrl = None,
) -> None:
    """Change what is known of a user; what is left out stays.

    \b
    Example:
      naive users update 6f1b7c1e-0b0a-4f5e-9d5c-2f6f3c1d7a10 --label 'Ada L.'
    """
    if external_id is None and email is None and label is None:
        raise typer.BadParameter("give at least one of --external-id, --email and --label.")
    client = connect_company(base_url)
    with known_user(), _free_external_id():
        output.show(client.users.update(user_id, external_id=external_id, email=email, label=label), as_json)


@app.command("delete")
def delete(
    user_id: UserArgument,
    force: Annotated[bool, typer.Option("--force", help="Destroy all that the user has, too.")] = False,
    yes: Yes = False,
    base_url: BaseUrl = None,
) -> None:
    """Delete a user.

    One that still has queues is deleted with --force only, and everything in them goes. The keys that are sealed to
    the user are then good for nothing.

    \b
    Examples:
      naive users delete 6f1b7c1e-0b0a-4f5e-9d5c-2f6f3c1d7a10
      naive users delete 6f1b7c1e-0b0a-4f5e-9d5c-2f6f3c1d7a10 --force --yes
    """
    settings = config.settings(None, base_url)
    client = client_for(settings)
    with known_user():
        output.confirm(
            lambda: f"Delete {_known(client.users.get(user_id))}{' with all that it has' if force else ''}?", yes
        )
        client.users.delete(user_id, force=force)
    say(f"Deleted {user_id}.")
    if user_id == (settings.acting and settings.acting.user_id):
        say(f"Note: This was the active user. Run `naive use default`, or unset {ACTIVE_USER_VARIABLE}.")


@contextmanager
def _free_external_id() -> Iterator[None]:
    """Say in this block who has the external id that is taken."""
    try:
        yield
    except AlreadyExistsError as taken:
        if holder := taken.details.get("id"):
            taken.hint = f"`naive users show {holder}` shows who has it. Use that user, or give another --external-id."
        raise


def _known(user: User) -> str:
    """What a user is known by, for whoever is about to delete it."""
    facts = {"external id": user.external_id, "label": user.label, "e-mail": user.email}
    told = ", ".join(f"{name} {value!r}" for name, value in facts.items() if value is not None)
    return f"user {user.id} ({told})" if told else f"user {user.id}"
