"""Words for the person at the terminal."""

from __future__ import annotations

import re
import sys
from contextlib import suppress

# What a terminal would obey: controls other than the tab, other ends of lines, and what turns the direction of writing.
_CONTROLS = (*range(0x09), *range(0x0A, 0x20), *range(0x7F, 0xA0))
_LINES = (0x2028, 0x2029)
_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_IN_JSON = {code: f"\\u{code:04x}" for code in (*_CONTROLS, *_LINES, *_DIRECTIONS)}
_ESCAPES = _IN_JSON | {code: f"\\x{code:02x}" for code in _CONTROLS} | {0x0A: r"\n", 0x0D: r"\r"}
# Between the values of a document, where alone JSON has these as they are, nothing is escaped.
_JSON_ESCAPES = _IN_JSON | {0x0A: " ", 0x0D: " "}

_KEY = re.compile(r"nv_sk_live_[\w-]+")


def say(words: str) -> None:
    """Tell the person in one line what is not data, and no key; that nobody can be told is no reason to stop."""
    with suppress(OSError):
        print(without_keys(harmless(words)), file=sys.stderr)


def counted(number: int, noun: str) -> str:
    """How many there are of something."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def key_in(text: str) -> str | None:
    """The first API key in a text."""
    found = _KEY.search(text)
    return found and found[0]


def without_keys(text: str) -> str:
    """The text with every API key cut off."""
    return _KEY.sub("nv_sk_live_…", text)


def harmless(text: str) -> str:
    """Text that a terminal shows in one line and does not obey."""
    return text.translate(_ESCAPES)


def harmless_json(document: str) -> str:
    """The same of a JSON document, which says what it said."""
    return document.translate(_JSON_ESCAPES)
