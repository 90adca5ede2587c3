"""How a loop is told to stop: by its program, or by the signals that end a program."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

# A terminal that is closed sends the last of them, which Windows does not have.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_SIGNALS = [signal.Signals[name] for name in _NAMES if name in signal.Signals.__members__]


class Stop:
    """Stops the loops that it was given to, from anywhere: other threads, handlers, signal handlers."""

    def __init__(self) -> None:
        self._requested = False
        self._at_once = False
        self._listeners: list[Callable[[], None]] = []

    def __call__(self) -> None:
        """Begin the drain: no receive is begun, what waits is given back, handlers may finish."""
        self._requested = True
        self._tell()

    def now(self) -> None:
        """Give everything back, without waiting for handlers."""
        self._at_once = True
        self()

    @property
    def requested(self) -> bool:
        """Whether a drain has begun."""
        return self._requested

    @property
    def at_once(self) -> bool:
        """Whether not even handlers are waited for."""
        return self._at_once

    @contextmanager
    def telling(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call the listener whenever something was asked for while the block runs."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def _tell(self) -> None:
        for listener in list(self._listeners):
            listener()


@contextmanager
def heeding_signals(stop: Stop, wanted: bool) -> Iterator[None]:
    """Let the signals that end a program stop the loop, a second one at once; a third does what it always does.

    Only the main thread can, elsewhere this does nothing. A signal that is ignored stays ignored.
    """
    heeded = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    if not wanted or current_thread() is not main_thread():
        heeded = []
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in heeded}
    seen: list[int] = []

    def heed(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        if len(seen) == 1:
            stop()
        else:
            restore()
            stop.now()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in heeded:
        signal.signal(number, heed)
    try:
        yield
    finally:
        restore()
