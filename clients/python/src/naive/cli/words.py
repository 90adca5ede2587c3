"""Words for the person at the terminal."""

from __future__ import annotations

import re
import sys
from contextlib import suppress

# What a terminal would obey: controls other than the tab and the line end, and what turns the direction of writing.
_CONTROLS = (*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0))
_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_ESCAPES = {code: f"\\x{code:02x}" for code in _CONTROLS} | {code: f"\\u{code:04x}" for code in _DIRECTIONS}


_KEY = re.compile(r"nv_sk_live_[\w-]+")


def say(words: str) -> None:
    """Tell the person something that is not data, and no key; that nobody can be told is no reason to stop."""
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
    """Text that a terminal shows and does not obey."""
    return text.translate(_ESCAPES)
