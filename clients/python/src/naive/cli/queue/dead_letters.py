"""The commands about dead letters."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import typer

from naive.cli import output
from naive.cli.options import AsJson, BaseUrl, QueueArgument, User
from naive.cli.session import connect, for_queue
from naive.cli.words import counted, say
from naive.constants import MAX_REDRIVE

if TYPE_CHECKING:
    from naive.blocking.client import UserClient
    from naive.models import Redriven

# Counts are approximate and a look hides a message for a moment: only this many fruitless rounds mean the end.
_FRUITLESS_ROUNDS = 3
_PAUSE_SECONDS = 1.0


def dlq(queue: QueueArgument, as_json: AsJson = False, user: User = None, base_url: BaseUrl = None) -> None:
    """Look at dead letters without taking them.

    \b
    Examples:
      naive queue dlq jobs
      naive queue dlq jobs --json | jq -r '.messages[].body'
    """
    client = connect(user, base_url)
    output.show(for_queue(client, queue, client.queue.peek_dlq), as_json)


def redrive(queue: QueueArgument, as_json: AsJson = False, user: User = None, base_url: BaseUrl = None) -> None:
    """Move all dead letters back to their queue.

    It repeats until nothing is left to move, or as many were moved as there were at the start. The JSON has the
    fields of one redrive, summed up.

    \b
    Example:
      naive queue redrive jobs
    """
    client = connect(user, base_url)
    moved = for_queue(client, queue, lambda found: _redrive_all(client, found, shown=not as_json))
    if output.wants_json(as_json):
        output.emit(moved.model_dump_json().encode())
    say(f"Moved {counted(moved.moved, 'message')}, {moved.remaining:,} left.")
    if moved.remaining:
        raise typer.Exit(1)


def _redrive_all(client: UserClient, queue: str, shown: bool) -> Redriven:
    from naive.cli.progress import progress  # here, since only some commands need a progress bar

    # No more than there were: what comes back at once would be moved for ever. A count of none may be late.
    most = client.queue.attributes(queue).dlq_depth or MAX_REDRIVE
    with progress("Redriving", most, shown) as advance:
        moved = fruitless = 0
        while True:
            latest = client.queue.redrive(queue, max=min(MAX_REDRIVE, most - moved))
            moved += latest.moved
            advance(latest.moved, f"Moved {moved:,}")
            fruitless = 0 if latest.moved else fruitless + 1
            if moved >= most or fruitless == _FRUITLESS_ROUNDS or not (latest.moved or latest.remaining):
                return latest.model_copy(update={"moved": moved})
            if not latest.moved:
                time.sleep(_PAUSE_SECONDS)
