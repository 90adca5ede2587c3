"""Write `naive.blocking`, the blocking client, from `naive.aio`, the asynchronous one.

python clients/python/scripts/blocking.py
python clients/python/scripts/blocking.py --check
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "naive"
SOURCE = PACKAGE / "aio"
TARGET = PACKAGE / "blocking"

HEAD = "# Generated from naive/aio/{name} by `make blocking`: a change belongs there.\n"

# What only the asynchronous client has.
LEFT_OUT = {"either.py"}

# In this order: from a thing of asyncio to what it is for those who block.
RULES = [
    (r"^from naive\.aio\.either import .*\n", ""),
    (r"\bawait tell\(([\w.]+), ", r"\1("),
    (r"\beach\((\w+)\)", r"\1"),
    (r"\basync (def|for|with) ", r"\1 "),
    (r"\bawait ", ""),
    (r" \| AsyncIterable\[\w+\]", ""),
    (r"\bAsyncIterable, ", ""),
    (r"\bAwaitable\[(\w+)\]", r"\1"),
    (r"\bAwaitable, ", ""),
    (r"\bimport asyncio\b", "import time"),
    (r"\basyncio\.", "time."),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\b__a(enter|exit)__", r"__\1__"),
    (r"\ba(close|iter_bytes)\b", r"\1"),
    (r"\bnaive\.aio\b", "naive.blocking"),
    (r"\btasks\b", "threads"),
    (r"\basynchronous\b", "blocking"),
]


def generated() -> dict[str, str]:
    """The modules of the blocking client, by their names."""
    sources = {path.name: path.read_text(encoding="utf-8") for path in sorted(SOURCE.glob("*.py"))}
    return {name: _blocking(name, text) for name, text in sources.items() if name not in LEFT_OUT}


def _blocking(name: str, text: str) -> str:
    if name == "__init__.py":
        return f'{HEAD.format(name=name)}"""The blocking client."""\n'
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return _ruff(name, "format", _ruff(name, "check --quiet --select=I --fix", HEAD.format(name=name) + text))


def _ruff(name: str, command: str, text: str) -> str:
    """The text as Ruff gives it back."""
    ruff = [sys.executable, "-m", "ruff", *command.split(), f"--stdin-filename={TARGET / name}", "-"]
    return subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    made = generated()
    if "--check" in sys.argv:
        there = {path.name: path.read_text(encoding="utf-8") for path in TARGET.glob("*.py")}
        if there != made:
            sys.exit(f"{TARGET} is not what {SOURCE} makes: run `make blocking`.")
    else:
        for name, text in made.items():
            (TARGET / name).write_text(text, encoding="utf-8")
