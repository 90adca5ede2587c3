"""The command that works on a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from naive.cli.options import BaseUrl, User, filled_in
from naive.cli.session import connect, whole_queue
from naive.cli.words import say
from naive.constants import (
    CONCURRENCY,
    DRAIN_SECONDS,
    LEAST_VISIBILITY,
    MAX_LEASE_SECONDS,
    MAX_WAIT,
    QUEUE_VARIABLE,
)

if TYPE_CHECKING:
    from naive.cli.queue.work.commands import Commands
    from naive.cli.queue.work.posts import Posts
    from naive.cli.queue.work.report import Report
    from naive.models import Queue


def work(
    queue: Annotated[
        str,
        typer.Argument(metavar="QUEUE", envvar=QUEUE_VARIABLE, callback=filled_in, help="The queue's id or name."),
    ],
    command: Annotated[
        str | None, typer.Option("--exec", metavar="CMD", callback=filled_in, help="Run this by `sh -c`.")
    ] = None,
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", callback=filled_in, help="POST the body there instead.")
    ] = None,
    concurrency: Annotated[
        int, typer.Option("--concurrency", min=1, metavar="N", help="How many messages at once.")
    ] = CONCURRENCY,
    visibility: Annotated[
        int | None,
        typer.Option(
            "--visibility",
            min=LEAST_VISIBILITY,
            max=MAX_LEASE_SECONDS,
            metavar="SECONDS",
            help="How soon others get what a worker that died had leased, if not as the queue says.",
        ),
    ] = None,
    wait: Annotated[
        int, typer.Option("--wait", min=0, max=MAX_WAIT, metavar="SECONDS", help="How long a receive waits.")
    ] = MAX_WAIT,
    drain_seconds: Annotated[
        float,
        typer.Option("--drain-seconds", min=0, metavar="SECONDS", help="How long work may go on when told to stop."),
    ] = DRAIN_SECONDS,
    idle_exit: Annotated[
        float | None,
        typer.Option("--idle-exit", min=0, metavar="SECONDS", help="End after so long without a message."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each message, as when piped.")
    ] = False,
    user: User = None,
    base_url: BaseUrl = None,
) -> None:
    """Run a command, or call a URL, for each message.

    The body is the command's stdin, and its environment tells the rest: NAIVE_QUEUE_ID, NAIVE_MESSAGE_ID,
    NAIVE_RECEIVE_COUNT, NAIVE_MAX_RECEIVE_COUNT, NAIVE_SENT_AT, NAIVE_GROUP_ID, NAIVE_DEDUP_ID, each attribute as
    NAIVE_ATTRIBUTE_<NAME>, and all as JSON in NAIVE_ATTRIBUTES. Exit code 0 acks the message, so does a 2xx of the
    URL. Anything else gives it back, with a delay that grows with each receive. The lease is extended meanwhile.

    It works until it is told to stop. SIGTERM and Ctrl-C drain: no receive is begun, and work that runs has
    --drain-seconds to finish. A second one ends it with SIGTERM, later SIGKILL, and gives it back at once. The exit
    code is 0 if no work was cut off.

    Piped, or with --json, each message is one line of JSON.

    \b
    Examples:
      naive queue work jobs --exec 'jq -r .url | xargs curl -fsSO' --concurrency 4
      naive queue work jobs --url http://127.0.0.1:8000/jobs
      naive queue work jobs --exec ./import.sh --idle-exit 5
    """
    if (command is None) == (url is None):
        raise typer.BadParameter("give either --exec or --url.")
    client = connect(user, base_url)
    found = whole_queue(client, queue)
    # Here, so that help does not wait for what only a worker needs.
    from naive.cli.queue.work.report import Report

    with Report(found.name, "status" if command is None else "exit_code", as_json) as report:
        say(f"Working on {found.name}. Ctrl-C drains, a second one gives back at once.")
        with _handler(command, url, found, report) as handler:
            counts = client.queue.consume(
                found,
                handler,
                concurrency=concurrency,
                visibility=visibility,
                wait=wait,
                drain_seconds=drain_seconds,
                idle_exit=idle_exit,
                stop=report.stop,
                on_event=report.tell,
            )
    say(report.summary())
    if counts.unfinished:
        say(f"Cut off while at work: {counts.unfinished:,}.")
        raise typer.Exit(1)


def _handler(command: str | None, url: str | None, queue: Queue, report: Report) -> Commands | Posts:
    if command is not None:
        from naive.cli.queue.work.commands import Commands

        return Commands(command, queue, report)
    from naive.cli.queue.work.posts import Posts

    return Posts(url or "", queue, report)
