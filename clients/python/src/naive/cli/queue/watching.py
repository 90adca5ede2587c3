"""The command that watches a queue."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from naive.cli import output
from naive.cli.options import AsJson, BaseUrl, QueueArgument, User
from naive.cli.session import connect, for_queue
from naive.cli.streams import writing
from naive.errors import NotFoundError

if TYPE_CHECKING:
    from naive.blocking.client import UserClient
    from naive.models import Queue, QueueAttributes, Service


class Look(NamedTuple):
    """What a queue is like at one moment."""

    attributes: QueueAttributes
    service: Service | None


def watch(
    queue: QueueArgument,
    interval: Annotated[
        float,
        typer.Option("--interval", min=0.5, max=3600, metavar="SECONDS", help="How long from one look to the next."),
    ] = 2.0,
    looks: Annotated[
        int | None, typer.Option("--count", min=1, metavar="N", help="How many looks; without it, until Ctrl-C.")
    ] = None,
    as_json: AsJson = False,
    user: User = None,
    base_url: BaseUrl = None,
) -> None:
    """Watch how full a queue is, until Ctrl-C.

    Where a service works for the queue, the number of its workers is shown too. Piped, or with --json, each look is
    one line of JSON.

    \b
    Examples:
      naive queue watch jobs
      naive queue watch jobs --interval 10 --count 6 --json
    """
    client = connect(user, base_url)
    show = _print_lines if output.wants_json(as_json) else partial(_draw, queue)
    for_queue(client, queue, lambda found: show(_looks(client, found, interval, looks)))


def _print_lines(looks: Iterable[Look]) -> None:
    for look in looks:
        line = look.attributes.model_dump(mode="json")
        if look.service:
            line["workers"] = {"desired": look.service.desired, "running": look.service.running}
        output.emit(json.dumps(line).encode())


def _draw(queue: str, looks: Iterable[Look]) -> None:
    from naive.cli import tables  # here, since programs and help have no use for Rich

    with writing():
        tables.live(queue, ((look.attributes, look.service) for look in looks))


def _looks(client: UserClient, queue: str, interval: float, looks: int | None) -> Iterator[Look]:
    for look in count(1):
        found = client.queue.get(queue)
        yield Look(found.attributes or client.queue.attributes(queue), _service_of(client, found))
        if look == looks:
            return
        time.sleep(interval)


def _service_of(client: UserClient, queue: Queue) -> Service | None:
    """The service that works for the queue, if one does."""
    if not queue.consumer or queue.consumer.get("type") != "service":
        return None
    with suppress(NotFoundError):  # which may go at any moment
        return client.compute.get(client.queue.consumer.get(queue).service_id or "")
    return None
