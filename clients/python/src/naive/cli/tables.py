"""Answers as a person on a terminal reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from functools import singledispatch

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from naive.cli.words import harmless, say
from naive.models import Answer, DeadLetters, Message, Queue, QueueAttributes, QueuePage, Received, SentMessage

_SHOWN_BODY = 2000
_SHOWN_BODY_IN_ROW = 200
_KEPT_WHOLE = ("id", "message_id", "sent_at")


@singledispatch
def draw(answer: Answer) -> None:
    """Print an answer; without a better idea, as a list of its fields."""
    _print_fields(dict(answer))


@draw.register
def _(queue: Queue) -> None:
    fields = dict(queue)
    counts = fields.pop("attributes")
    _print_fields({**fields, **dict(counts or {})})


@draw.register
def _(page: QueuePage) -> None:
    rows = ([queue.name, queue.type, queue.dlq, queue.id] for queue in page.queues)
    if page.queues:
        Console().print(_table(["name", "type", "dlq", "id"], rows))
    else:
        say("There are no queues. To make one: naive queue create --name jobs")


@draw.register
def _(counts: QueueAttributes) -> None:
    Console().print(_counts(counts))


@draw.register
def _(sent: SentMessage) -> None:
    _print_fields(sent.model_dump(exclude_none=True))


@draw.register
def _(received: Received) -> None:
    for message in received.messages:
        _print_message(message)
    if not received.messages:
        say("Nothing received.")


@draw.register
def _(letters: DeadLetters) -> None:
    rows = (
        [letter.message_id, letter.receive_count, letter.sent_at, _start_of(letter.body)] for letter in letters.messages
    )
    if letters.messages:
        Console().print(_table(["message_id", "receives", "sent_at", "body"], rows))
    else:
        say("There are no dead letters.")


def live(queue: str, looks: Iterable[QueueAttributes]) -> None:
    """Show each look in the place of the one before."""
    with Live(console=Console(), auto_refresh=False) as screen:
        for counts in looks:
            title = f"{queue} at {datetime.now():%H:%M:%S}, Ctrl-C ends"
            screen.update(_counts(counts, title), refresh=True)


def _counts(counts: QueueAttributes, title: str | None = None) -> Table:
    row = [counts.depth, counts.in_flight, counts.delayed, counts.dlq_depth]
    return _table(["ready", "in flight", "delayed", "dead letters"], [row], title)


def _print_message(message: Message) -> None:
    fields = dict(message)
    body = fields.pop("body")
    shown = body[:_SHOWN_BODY]
    if len(body) > len(shown):
        shown += f"\n… {len(body) - len(shown):,} more characters, --json shows all"
    _print_fields({name: value for name, value in fields.items() if value is not None} | {"body": shown})
    Console().print()


def _print_fields(fields: Mapping[str, object]) -> None:
    """One field a line and never wrapped by us, so that a long handle can be copied whole."""
    width = max(len(name) for name in fields)
    for name, value in fields.items():
        line = Text.assemble((f"{name:<{width}}  ", "bold"), _shown(value))
        Console().print(line, soft_wrap=True)


def _table(columns: Iterable[str], rows: Iterable[Iterable[object]], title: str | None = None) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, no_wrap=column in _KEPT_WHOLE, overflow="fold")
    for row in rows:
        table.add_row(*(value if isinstance(value, Text) else Text(_shown(value)) for value in row))
    return table


def _start_of(body: str) -> Text:
    """As much of a body as fits into one line of a table."""
    start = harmless(body[:_SHOWN_BODY_IN_ROW]).replace("\n", " ")
    return Text(start, no_wrap=True, overflow="ellipsis")


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    return harmless(str(value))
