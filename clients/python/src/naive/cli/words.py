"""Words for the person at the terminal."""

from __future__ import annotations

import sys

# Controls other than the tab and the line end, which a terminal would obey.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"}


def say(words: str) -> None:
    """Tell the person something that is not data."""
    print(harmless(words), file=sys.stderr)


def harmless(text: str) -> str:
    """Text that a terminal shows and does not obey."""
    return text.translate(_CONTROLS)
