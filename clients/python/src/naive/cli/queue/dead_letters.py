"""The commands about dead letters."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import typer

from naive.cli import output
from naive.cli.options import AsJson, BaseUrl, QueueArgument, User
from naive.cli.session import connect, queue_id
from naive.cli.words import say
from naive.constants import MAX_REDRIVE

if TYPE_CHECKING:
    from collections.abc import Callable

    from naive.client import UserClient
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
    output.show(client.queue.peek_dlq(queue_id(client, queue)), as_json)


def redrive(queue: QueueArgument, as_json: AsJson = False, user: User = None, base_url: BaseUrl = None) -> None:
    """Move all dead letters back to their queue.

    It repeats until nothing is left to move. The JSON has the fields of one redrive, summed up.

    \b
    Example:
      naive queue redrive jobs
    """
    from naive.cli.progress import progress  # here, since only some commands need a progress bar

    client = connect(user, base_url)
    found = queue_id(client, queue)
    with progress("Redriving", client.queue.attributes(found).dlq_depth, shown=not as_json) as advance:
        moved = _redrive_all(client, found, advance)
    if output.wants_json(as_json):
        output.emit(moved.model_dump_json().encode())
    say(f"Moved {moved.moved:,} messages, {moved.remaining:,} remain.")
    if moved.remaining:
        raise typer.Exit(1)


def _redrive_all(client: UserClient, queue: str, advance: Callable[[int, str], None]) -> Redriven:
    moved = fruitless = 0
    while True:
        latest = client.queue.redrive(queue, max=MAX_REDRIVE)
        moved += latest.moved
        advance(latest.moved, f"Moved {moved:,}")
        fruitless = 0 if latest.moved else fruitless + 1
        if not latest.moved and (not latest.remaining or fruitless == _FRUITLESS_ROUNDS):
            return latest.model_copy(update={"moved": moved})
        if not latest.moved:
            time.sleep(_PAUSE_SECONDS)
