"""`naive queue consumer`: what works a queue off by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from naive.cli import output
from naive.cli.options import AsJson, BaseUrl, QueueArgument, User, Yes, filled_in
from naive.cli.session import connect, for_service, whole_queue
from naive.cli.words import say
from naive.errors import ConflictError, NotFoundError

if TYPE_CHECKING:
    from naive.models import ConsumerType, NewConsumer

app = typer.Typer(help="What works a queue off by itself.", no_args_is_help=True, rich_markup_mode=None)

_KINDS = "--function, --url and --service"


@app.command("set")
def set_consumer(
    queue: QueueArgument,
    function: Annotated[
        str | None,
        typer.Option("--function", metavar="NAME", callback=filled_in, help="A function deployed for your company."),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", callback=filled_in, help="A webhook, which gets each message as a POST."),
    ] = None,
    service: Annotated[
        str | None,
        typer.Option("--service", metavar="SERVICE", callback=filled_in, help="A compute service, by its id or name."),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", metavar="N", help="Messages at once, 1 to 10; not for a service.")
    ] = None,
    max_concurrency: Annotated[
        int | None,
        typer.Option("--max-concurrency", metavar="N", help="Batches at the same time, if not 10; not for a service."),
    ] = None,
    min: Annotated[int | None, typer.Option("--min", metavar="N", help="Workers that always stay, if not 0.")] = None,
    max: Annotated[int | None, typer.Option("--max", metavar="N", help="Workers at most, if not 10.")] = None,
    messages_per_worker: Annotated[
        int | None,
        typer.Option("--messages-per-worker", metavar="N", help="How many messages want one worker, if not 10."),
    ] = None,
    idle_seconds: Annotated[
        int | None,
        typer.Option("--idle-seconds", metavar="SECONDS", help="How long without messages before it rests, if not 60."),
    ] = None,
    as_json: AsJson = False,
    user: User = None,
    base_url: BaseUrl = None,
) -> None:
    """Have a function, a webhook or a service work a queue off, or change the numbers of the one that does.

    A webhook's secret, which tells it that a request is ours, is shown this once. --min, --max, --messages-per-worker
    and --idle-seconds are for a service.

    \b
    Examples:
      naive queue consumer set jobs --function acme-resize --max-concurrency 5
      naive queue consumer set jobs --url https://example.com/hooks/jobs
      naive queue consumer set jobs --service worker --max 20
      naive queue consumer set jobs --max 40
    """
    kinds: dict[ConsumerType, str | None] = {"function": function, "webhook": url, "service": service}
    chosen = [kind for kind, value in kinds.items() if value is not None]
    numbers: dict[str, Any] = {
        "batch_size": batch_size,
        "max_concurrency": max_concurrency,
        "min": min,
        "max": max,
        "messages_per_worker": messages_per_worker,
        "idle_seconds": idle_seconds,
    }
    if len(chosen) > 1:
        raise typer.BadParameter(f"{_KINDS} exclude each other.")
    if not chosen and all(number is None for number in numbers.values()):
        raise typer.BadParameter(f"give one of {_KINDS}, or a number to change.")
    client = connect(user, base_url)
    found = whole_queue(client, queue)
    if not chosen:
        with _known():
            output.show(client.queue.consumer.update(found, **numbers), as_json)
        return

    def bind(service_id: str | None) -> NewConsumer:
        return client.queue.consumer.set(
            found, type=chosen[0], function=function, url=url, service_id=service_id, **numbers
        )

    with _free():
        output.show(bind(None) if service is None else for_service(client, service, bind), as_json)
    if url is not None and not output.wants_json(as_json):
        say("The secret is shown once: put it where it is safe now.")


@app.command("show")
def show(queue: QueueArgument, as_json: AsJson = False, user: User = None, base_url: BaseUrl = None) -> None:
    """Show what works a queue off.

    \b
    Example:
      naive queue consumer show jobs
    """
    client = connect(user, base_url)
    found = whole_queue(client, queue)
    with _known():
        output.show(client.queue.consumer.get(found), as_json)


@app.command("pause")
def pause(queue: QueueArgument, as_json: AsJson = False, user: User = None, base_url: BaseUrl = None) -> None:
    """Let messages wait; what is being worked on is finished.

    \b
    Example:
      naive queue consumer pause jobs
    """
    client = connect(user, base_url)
    found = whole_queue(client, queue)
    with _known():
        output.show(client.queue.consumer.pause(found), as_json)


@app.command("resume")
def resume(queue: QueueArgument, as_json: AsJson = False, user: User = None, base_url: BaseUrl = None) -> None:
    """Go on after a pause.

    \b
    Example:
      naive queue consumer resume jobs
    """
    client = connect(user, base_url)
    found = whole_queue(client, queue)
    with _known():
        output.show(client.queue.consumer.resume(found), as_json)


@app.command("remove")
def remove(queue: QueueArgument, yes: Yes = False, user: User = None, base_url: BaseUrl = None) -> None:
    """Have nothing work a queue off any more; its messages stay.

    \b
    Example:
      naive queue consumer remove jobs
    """
    client = connect(user, base_url)
    output.confirm(f"Remove the consumer of {queue}?", yes)
    found = whole_queue(client, queue)
    with _known():
        client.queue.consumer.remove(found)
    say(f"Removed the consumer of {queue}.")


@contextmanager
def _free() -> Iterator[None]:
    """Say in this block what can be done about the consumer that is there already."""
    try:
        yield
    except ConflictError as taken:
        if taken.details.get("reason") == "consumer_exists":
            taken.hint = "Give numbers alone to change it, or `naive queue consumer remove` it first."
        raise


@contextmanager
def _known() -> Iterator[None]:
    """Say in this block how to get the consumer that is not there."""
    try:
        yield
    except NotFoundError as missing:
        missing.hint = "`naive queue consumer set` gives a queue one."
        raise
