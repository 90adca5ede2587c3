"""What `make local` says while it works: one line a step, on stderr, so that stdout stays for data."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

WIDTH = 58


class LocalError(Exception):
    """Something the user can mend; its text is the one line that says how."""


def say(line: str = "") -> None:
    """A line for the person at the terminal."""
    print(line, file=sys.stderr, flush=True)


@contextmanager
def step(what: str) -> Iterator[None]:
    """Names what is being done, and how long it took once it is done."""
    started = time.monotonic()
    print(f"  {what} ".ljust(WIDTH, "."), end=" ", file=sys.stderr, flush=True)
    try:
        yield
    except KeyboardInterrupt:
        say("interrupted")
        raise
    except BaseException:
        say("failed")
        raise
    say(f"{time.monotonic() - started:.1f} s")
