"""`naive compute`: services, which are containers that work."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from naive.cli import output
from naive.cli.options import AsJson, BaseUrl, Cursor, Limit, ServiceArgument, User, Yes, all_filled_in, filled_in
from naive.cli.session import connect, for_service, whole_queue
from naive.cli.words import say
from naive.constants import MAX_LOG_LINES, MAX_PAGE

if TYPE_CHECKING:
    from naive.blocking.client import UserClient

app = typer.Typer(help="Services, the workers of queues.", no_args_is_help=True, rich_markup_mode=None)


def _variables(values: Any) -> Any:
    """What was given for --env, each with its value."""
    for value in all_filled_in(values or []):
        if value.partition("=")[:2] in ((value, ""), ("", "=")):
            raise typer.BadParameter(f"{value!r} is not NAME=VALUE.")
    return values


def _words(value: str | None) -> str | None:
    """What was given for --command, if a shell could take it apart."""
    try:
        shlex.split(filled_in(value) or "")
    except ValueError as fault:
        raise typer.BadParameter(f"it is no command: {str(fault).lower()}.") from None
    return value


@app.command("create")
def create(
    name: Annotated[str, typer.Option("--name", callback=filled_in, help="Letters, digits, _ and -, up to 64.")],
    image: Annotated[
        str, typer.Option("--image", metavar="IMAGE", callback=filled_in, help="The container image, for x86-64.")
    ],
    type: Annotated[str, typer.Option("--type", callback=filled_in, help="service is what there is.")] = "service",
    command: Annotated[
        str | None,
        typer.Option("--command", metavar="TEXT", callback=_words, help="What runs, if not the image's own command."),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option("--queue", metavar="QUEUE", callback=filled_in, help="The queue to work for, by its id or name."),
    ] = None,
    cpu: Annotated[
        int | None, typer.Option("--cpu", metavar="UNITS", help="CPU, 1024 for a whole one, if not 256.")
    ] = None,
    memory: Annotated[int | None, typer.Option("--memory", metavar="MIB", help="Memory, if not 512.")] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="NAME=VALUE", callback=_variables, help="A variable; may be repeated."),
    ] = None,
    as_json: AsJson = False,
    user: User = None,
    base_url: BaseUrl = None,
) -> None:
    """Make a service of a container image.

    With --queue it works for that queue: it rests while the queue is idle, and the first message wakes it. Without,
    it starts at once. --command is taken apart as a shell would do it, and no shell runs it. Variables are stored as
    they are: they are no place for secrets.

    \b
    Examples:
      naive compute create --name worker --type service --image me/worker:latest --queue jobs
      naive compute create --name web --image me/web:2 --command 'serve --port 80' --env LEVEL=debug --cpu 512
        --memory 1024
    """
    client = connect(user, base_url)
    service = client.compute.create(
        name,
        image=image,
        type=type,
        command=None if command is None else shlex.split(command),
        cpu=cpu,
        memory=memory,
        env=dict(variable.split("=", 1) for variable in env) if env else None,
        queue_id=None if queue is None else whole_queue(client, queue),
    )
    output.show(service, as_json)


@app.command("list")
def list_services(
    limit: Limit = MAX_PAGE, cursor: Cursor = None, as_json: AsJson = False, user: User = None, base_url: BaseUrl = None
) -> None:
    """List services by name.

    \b
    Example:
      naive compute list
    """
    output.show_page(connect(user, base_url).compute.list(limit=limit, cursor=cursor), as_json)


@app.command("show")
def show(service: ServiceArgument, as_json: AsJson = False, user: User = None, base_url: BaseUrl = None) -> None:
    """Show a service, with how many workers it has and should have.

    \b
    Example:
      naive compute show worker
    """
    client = connect(user, base_url)
    output.show(for_service(client, service, client.compute.get), as_json)


@app.command("start")
def start(service: ServiceArgument, as_json: AsJson = False, user: User = None, base_url: BaseUrl = None) -> None:
    """Let a service run; one with a queue when there is work.

    \b
    Example:
      naive compute start worker
    """
    client = connect(user, base_url)
    output.show(for_service(client, service, client.compute.start), as_json)


@app.command("stop")
def stop(service: ServiceArgument, as_json: AsJson = False, user: User = None, base_url: BaseUrl = None) -> None:
    """Let a service rest until it is started; workers finish what they do.

    \b
    Example:
      naive compute stop worker
    """
    client = connect(user, base_url)
    output.show(for_service(client, service, client.compute.stop), as_json)


@app.command("scale")
def scale(
    service: ServiceArgument,
    count: Annotated[int, typer.Argument(metavar="COUNT", help="How many workers, 0 to 1000.")],
    as_json: AsJson = False,
    user: User = None,
    base_url: BaseUrl = None,
) -> None:
    """Let a service that has no queue have so many workers.

    \b
    Example:
      naive compute scale web 3
    """
    client = connect(user, base_url)
    output.show(for_service(client, service, partial(client.compute.scale, count=count)), as_json)


@app.command("logs")
def logs(service: ServiceArgument, as_json: AsJson = False, user: User = None, base_url: BaseUrl = None) -> None:
    """Print what the workers of a service wrote, the oldest line first.

    Lines come some seconds after they were written. Piped, or with --json, each answer of the API is one line.

    \b
    Examples:
      naive compute logs worker
      naive compute logs worker --json | jq -r '.lines[].message'
    """
    client = connect(user, base_url)
    for_service(client, service, lambda found: _print_logs(client, found, as_json))


@app.command("delete")
def delete(service: ServiceArgument, yes: Yes = False, user: User = None, base_url: BaseUrl = None) -> None:
    """Delete a service with its key; what its workers hold comes back to the queue.

    \b
    Example:
      naive compute delete worker
    """
    client = connect(user, base_url)
    output.confirm(f"Delete the service {service}?", yes)
    for_service(client, service, client.compute.destroy)
    say(f"Deleted {service}.")


def _print_logs(client: UserClient, service: str, as_json: bool) -> None:
    cursor = None
    while True:
        page = client.compute.logs(service, limit=MAX_LOG_LINES, cursor=cursor)
        output.show(page, as_json)
        cursor = page.next_cursor
        if cursor is None:
            return
