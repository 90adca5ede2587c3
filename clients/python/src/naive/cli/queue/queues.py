"""The commands about queues themselves."""

from __future__ import annotations

from typing import Annotated

import typer

from naive.cli import output
from naive.cli.options import AsJson, BaseUrl, Cursor, Limit, QueueArgument, User, Yes, filled_in
from naive.cli.session import connect, for_queue
from naive.cli.words import say
from naive.constants import MAX_PAGE


def create(
    name: Annotated[str, typer.Option("--name", callback=filled_in, help="Letters, digits, _ and -, up to 64.")],
    fifo: Annotated[bool, typer.Option("--fifo", help="Keep order in groups, drop duplicates.")] = False,
    dlq: Annotated[bool, typer.Option("--dlq", help="Set messages aside that fail too often.")] = False,
    visibility: Annotated[
        int | None, typer.Option("--visibility", metavar="SECONDS", help="How long a lease lasts, if not 30.")
    ] = None,
    max_receives: Annotated[
        int | None,
        typer.Option("--max-receives", metavar="N", help="Tries before the DLQ, if not 5; needs --dlq."),
    ] = None,
    retention: Annotated[
        int | None,
        typer.Option("--retention", metavar="SECONDS", help="How long messages are kept, if not 345600."),
    ] = None,
    delay: Annotated[
        int | None, typer.Option("--delay", metavar="SECONDS", help="How long new messages stay hidden, if not 0.")
    ] = None,
    as_json: AsJson = False,
    user: User = None,
    base_url: BaseUrl = None,
) -> None:
    """Make a queue.

    \b
    Examples:
      naive queue create --name jobs
      naive queue create --name orders --fifo --dlq --max-receives 3
    """
    queue = connect(user, base_url).queue.create(
        name,
        type="fifo" if fifo else None,
        dlq=dlq or None,
        max_receive_count=max_receives,
        visibility_timeout=visibility,
        retention_seconds=retention,
        delay_seconds=delay,
    )
    output.show(queue, as_json)


def list_queues(
    limit: Limit = MAX_PAGE,
    cursor: Cursor = None,
    as_json: AsJson = False,
    user: User = None,
    base_url: BaseUrl = None,
) -> None:
    """List queues by name.

    \b
    Examples:
      naive queue list
      naive queue list --json | jq -r '.queues[].id'
    """
    output.show_page(connect(user, base_url).queue.list(limit=limit, cursor=cursor), as_json)


def show(queue: QueueArgument, as_json: AsJson = False, user: User = None, base_url: BaseUrl = None) -> None:
    """Show a queue with its settings and attributes.

    \b
    Example:
      naive queue show jobs
    """
    client = connect(user, base_url)
    output.show(for_queue(client, queue, client.queue.get), as_json)


def attributes(queue: QueueArgument, as_json: AsJson = False, user: User = None, base_url: BaseUrl = None) -> None:
    """Show how full a queue is: ready, in flight, delayed, dead.

    \b
    Example:
      naive queue attributes jobs
    """
    client = connect(user, base_url)
    output.show(for_queue(client, queue, client.queue.attributes), as_json)


def purge(
    queue: QueueArgument,
    dlq: Annotated[bool, typer.Option("--dlq", help="Purge the dead letters instead.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    user: User = None,
    base_url: BaseUrl = None,
) -> None:
    """Delete every message of a queue, or every dead letter.

    \b
    Examples:
      naive queue purge jobs
      naive queue purge jobs --dlq --yes
    """
    client = connect(user, base_url)
    output.confirm(f"Delete every {'dead letter' if dlq else 'message'} of {queue}?", yes)
    output.show(for_queue(client, queue, client.queue.purge_dlq if dlq else client.queue.purge), as_json)


def delete(queue: QueueArgument, yes: Yes = False, user: User = None, base_url: BaseUrl = None) -> None:
    """Delete a queue with its messages and dead letters.

    \b
    Example:
      naive queue delete jobs
    """
    client = connect(user, base_url)
    output.confirm(f"Delete {queue} with everything in it?", yes)
    for_queue(client, queue, client.queue.destroy)
    say(f"Deleted {queue}.")
