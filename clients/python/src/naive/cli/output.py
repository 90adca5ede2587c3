"""How a command speaks: data on stdout, words on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

import typer

from naive.cli.dialect import hint_of, translated
from naive.cli.streams import writing
from naive.cli.words import harmless, harmless_json, say
from naive.errors import NaiveError

if TYPE_CHECKING:
    from naive.models import Answer, Page


def wants_json(as_json: bool) -> bool:
    """Whether data is for a program: asked for, or going somewhere else than a terminal."""
    return as_json or not is_terminal(sys.stdout)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person is at the other end; nobody is at that of a closed stream."""
    return stream is not None and stream.isatty()


def show(answer: Answer, as_json: bool) -> None:
    """Print an answer: the API's own JSON for a program, a table for a person."""
    if wants_json(as_json):
        emit(answer.raw_json)
        return
    from naive.cli import tables  # here, since programs and help have no use for Rich

    with writing():
        tables.draw(answer)


def show_page(page: Page[Any], as_json: bool) -> None:
    """Print a page of a list, and say how to see the next."""
    show(page, as_json)
    if page.next_cursor:
        say(f"There are more: add --cursor {page.next_cursor}")


def emit(document: bytes) -> None:
    """Print one JSON document: as it is, and on a terminal with what that would obey escaped."""
    with writing():
        if is_terminal(sys.stdout):
            document = harmless_json(document.decode()).encode()
        sys.stdout.flush()
        sys.stdout.buffer.write(document + b"\n")
        sys.stdout.buffer.flush()


def report(error: NaiveError) -> None:
    """Tell what went wrong, what to do about it, and what to quote when asking for help."""
    say(f"Error: {translated(error.message)}")
    if hint := hint_of(error):
        say(f"Hint: {hint}")
    if error.details:
        say(f"Details: {json.dumps(error.details, ensure_ascii=False)}")
    facts = [
        error.code,
        f"status {error.status}" if error.status else "",
        f"request {error.request_id}" if error.request_id else "",
        f"retry after {error.retry_after:g} s" if error.retry_after else "",
    ]
    say(f"({', '.join(filter(None, facts))})")


def confirm(question: str | Callable[[], str], yes: bool) -> None:
    """Ask before something is destroyed, where there is somebody to ask; only then is a question worth a call."""
    if not yes and is_terminal(sys.stdin):
        typer.confirm(harmless(question if isinstance(question, str) else question()), abort=True, err=True)
