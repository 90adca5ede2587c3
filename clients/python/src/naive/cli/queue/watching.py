"""The command that watches a queue."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Annotated

import typer

from naive.cli import output
from naive.cli.options import AsJson, BaseUrl, QueueArgument, User
from naive.cli.session import connect, for_queue
from naive.cli.streams import writing

if TYPE_CHECKING:
    from naive.client import UserClient
    from naive.models import QueueAttributes


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

    Piped, or with --json, each look is one line of JSON.

    \b
    Examples:
      naive queue watch jobs
      naive queue watch jobs --interval 10 --count 6 --json
    """
    client = connect(user, base_url)
    show = _print_lines if output.wants_json(as_json) else partial(_draw, queue)
    for_queue(client, queue, lambda found: show(_looks(client, found, interval, looks)))


def _print_lines(looks: Iterable[QueueAttributes]) -> None:
    for attributes in looks:
        output.emit(attributes.raw_json.replace(b"\n", b" "))


def _draw(queue: str, looks: Iterable[QueueAttributes]) -> None:
    from naive.cli import tables  # here, since programs and help have no use for Rich

    with writing():
        tables.live(queue, looks)


def _looks(client: UserClient, queue: str, interval: float, looks: int | None) -> Iterator[QueueAttributes]:
    for look in count(1):
        yield client.queue.attributes(queue)
        if look == looks:
            return
        time.sleep(interval)
