"""Answers as a person on a terminal reads them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import singledispatch

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from naive.cli.rows import Row, fields, table
from naive.cli.words import harmless, say
from naive.models import (
    Answer,
    Consumer,
    DeadLetters,
    KeyPage,
    LogPage,
    Message,
    Queue,
    QueueAttributes,
    QueuePage,
    Received,
    SentMessage,
    Service,
    ServicePage,
    UserPage,
)

_SHOWN_BODY = 2000
_SHOWN_BODY_IN_ROW = 200


@singledispatch
def draw(answer: Answer) -> None:
    """Print an answer; without a better idea, as a list of its fields."""
    _print_fields(dict(answer))


@draw.register
def _(queue: Queue) -> None:
    shown = dict(queue)
    counts = shown.pop("attributes")
    _print_fields({**shown, **dict(counts or {})})


@draw.register
def _(page: QueuePage) -> None:
    rows = [{"name": queue.name, "type": queue.type, "dlq": queue.dlq, "id": queue.id} for queue in page.queues]
    none = "There are no queues. To make one: naive queue create --name jobs"
    _print_rows(rows, none, spare=("dlq", "type"), name=16)


@draw.register
def _(consumer: Consumer) -> None:
    _print_fields(consumer.model_dump(exclude_none=True))


@draw.register
def _(service: Service) -> None:
    _print_fields({**dict(service), "command": shlex.join(service.command) or None})


@draw.register
def _(page: ServicePage) -> None:
    rows = [
        {
            "name": service.name,
            "status": service.status,
            "workers": f"{service.running} of {service.desired}",
            "image": service.image,
            "id": service.id,
        }
        for service in page.services
    ]
    none = "There are no such services on this page."
    _print_rows(rows, none, spare=("image", "workers"), name=16, image=16)


@draw.register
def _(page: LogPage) -> None:
    console = Console()
    for line in page.lines:
        console.print(Text(f"{line.time:%Y-%m-%d %H:%M:%S}  {harmless(line.message)}"), soft_wrap=True)


@draw.register
def _(counts: QueueAttributes) -> None:
    _print_rows([_counts(counts)])


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
    rows = [
        {
            "message_id": letter.message_id,
            "receives": letter.receive_count,
            "sent_at": letter.sent_at,
            "body": _start_of(letter.body),
        }
        for letter in letters.messages
    ]
    _print_rows(rows, "There are no dead letters.", spare=("sent_at", "receives"), body=32)


@draw.register
def _(page: UserPage) -> None:
    rows = [
        {
            "label": user.label,
            "external_id": user.external_id,
            "email": user.email,
            "default": user.is_default,
            "id": user.id,
        }
        for user in page.users
    ]
    none = "There are no such users on this page."
    _print_rows(_without_empty(rows), none, spare=("email", "default"), label=12, external_id=12, email=16)


@draw.register
def _(page: KeyPage) -> None:
    rows = [
        {
            "name": key.name,
            "last_4": key.last_4,
            "user": key.active_tenant_user_id,
            "last used": key.last_used_at and key.last_used_at.date(),
            "revoked": key.revoked or None,
            "key_id": key.key_id,
        }
        for key in page.keys
    ]
    _print_rows(_without_empty(rows), "There are no keys on this page.", name=12)


def live(queue: str, looks: Iterable[tuple[QueueAttributes, Service | None]]) -> None:
    """Show each look in the place of the one before."""
    console = Console()
    with Live(console=console, auto_refresh=False) as screen:
        for counts, service in looks:
            title = f"{harmless(queue)} at {datetime.now():%H:%M:%S}, Ctrl-C ends"
            row = {**_counts(counts), **(_workers(service) if service else {})}
            screen.update(Group(Text(title), table([row], console.width) or fields(row)), refresh=True)


def _counts(counts: QueueAttributes) -> Row:
    return {
        "ready": counts.depth,
        "in flight": counts.in_flight,
        "delayed": counts.delayed,
        "dead letters": counts.dlq_depth,
    }


def _workers(service: Service) -> Row:
    return {"workers": service.running, "wanted": service.desired}


def _without_empty(rows: Sequence[Row]) -> list[Row]:
    """The rows without the columns in which no row has anything."""
    return [{name: value for name, value in row.items() if any(row[name] is not None for row in rows)} for row in rows]


def _print_message(message: Message) -> None:
    shown = dict(message)
    body = shown.pop("body")
    lines = [harmless(line) for line in body[:_SHOWN_BODY].split("\n")]
    if len(body) > _SHOWN_BODY:
        lines.append(f"… {len(body) - _SHOWN_BODY:,} more characters, --json shows all")
    known = {name: value for name, value in shown.items() if value is not None}
    _print_fields({**known, "body": Text("\n".join(lines))})
    Console().print()


def _print_rows(rows: Sequence[Row], none: str = "", spare: Sequence[str] = (), **least: int) -> None:
    """Print a table, a list of fields for each row where there is no room for one, or what to say of no rows."""
    if not rows:
        say(none)
        return
    console = Console()
    if drawn := table(rows, console.width, spare, **least):
        console.print(drawn)
        return
    for row in rows:
        _print_fields(row)
        console.print()


def _print_fields(row: Row) -> None:
    """Never wrapped by us, so that a long handle can be copied whole."""
    Console().print(fields(row), soft_wrap=True)


def _start_of(body: str) -> Text:
    """As much of a body as fits into one line of a table."""
    start = harmless(body[:_SHOWN_BODY_IN_ROW].replace("\n", " "))
    return Text(start + "…" * (len(body) > _SHOWN_BODY_IN_ROW), no_wrap=True, overflow="ellipsis")
