"""clients/cases.json: what a client in any language has to do, read for the tests of this one.

Each case is one call of the client. A server does in turn what `server` says: it answers, or it has a `fault`:
`refused` (no connection), `reset` (it reads and hangs up), `cut` (it hangs up in the middle of its answer) or `silent`
(it never answers). The client has to make exactly the `requests`, wait between them for `pauses` (each from the first
to the second number of seconds), and end with a `result`, of which at least these fields are looked at, or an `error`.

In a case `$use` is a copy of one of the `things` with other fields on top, `$repeat` a text so many times, `$times` a
value so many times, `$concat` lists in a row, `$queue` a queue itself instead of its id, `$stream` a generator,
`$again` the very request with that number, `${unique}` a text that no other call has, and `${key}` and `${agent}`
what the client was made with.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any

from naive import Queue

FILE = Path(__file__).parents[3] / "clients" / "cases.json"
TABLE: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


def resolved(value: Any) -> Any:
    """The value with every `$` in it replaced by what it stands for."""
    match value:
        case list():
            return [resolved(item) for item in value]
        case {"$use": str(thing), **more}:
            return {**resolved(TABLE["things"][thing]), **resolved(more)}
        case {"$repeat": [text, times]}:
            return text * times
        case {"$times": [times, item]}:
            return [resolved(item) for _ in range(times)]
        case {"$concat": lists}:
            return [item for part in lists for item in resolved(part)]
        case dict():
            return {name: resolved(item) for name, item in value.items()}
        case _:
            return value


def argument(value: Any, asynchronous: bool) -> Any:
    """An argument of a call, which may be a queue or a stream."""
    match resolved(value):
        case {"$queue": fields}:
            return Queue.model_validate(fields)
        case {"$stream": items}:
            return _slowly(items) if asynchronous else iter(items)
        case plain:
            return plain


async def _slowly(items: Iterable[Any]) -> AsyncIterator[Any]:
    for item in items:
        yield item


def differences(expected: Any, actual: Any, where: str = "it") -> Iterator[str]:
    """Where the actual value has not at least what is expected."""
    match expected:
        case dict() if isinstance(actual, dict):
            for name, value in expected.items():
                yield from differences(value, actual.get(name), f"{where}.{name}")
        case list() if isinstance(actual, list) and len(actual) == len(expected):
            for place, value in enumerate(expected):
                yield from differences(value, actual[place], f"{where}[{place}]")
        case str() if "${" in expected:
            if not (isinstance(actual, str) and _pattern(expected).fullmatch(actual)):
                yield f"{where} is {actual!r:.200} and not {expected!r}"
        case _:
            if expected != actual:
                yield f"{where} is {actual!r:.200} and not {expected!r:.200}"


def _pattern(text: str) -> re.Pattern[str]:
    known = {"${unique}": r"[!-~]{8,255}", "${agent}": r"naive-queue-\S+", "${key}": r"nv_sk_live_k{43}"}
    parts = re.split(r"(\$\{\w+\})", text)
    return re.compile("".join(known.get(part) or re.escape(part) for part in parts))
