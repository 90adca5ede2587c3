"""The command that watches a queue."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Annotated

import typer

from naive.cli import output
from naive.cli.options import AsJson, BaseUrl, QueueArgument, User
from naive.cli.session import connect, queue_id
from naive.cli.words import say

if TYPE_CHECKING:
    from naive.client import UserClient
    from naive.models import QueueAttributes


def watch(
    queue: QueueArgument,
    interval: Annotated[
        float, typer.Option("--interval", min=0.5, metavar="SECONDS", help="How long from one look to the next.")
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
    seen = _looks(client, queue_id(client, queue), interval, looks)
    try:
        if output.wants_json(as_json):
            for attributes in seen:
                output.emit(attributes.raw_json.replace(b"\n", b" "))
        else:
            from naive.cli import tables  # here, since programs and help have no use for Rich

            tables.live(queue, seen)
    except KeyboardInterrupt:
        say("")  # the usual end of watching: only the line that ^C is on has to end


def _looks(client: UserClient, queue: str, interval: float, looks: int | None) -> Iterator[QueueAttributes]:
    for look in count(1):
        yield client.queue.attributes(queue)
        if look == looks:
            return
        time.sleep(interval)
