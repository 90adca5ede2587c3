"""Threads that keep no process from ending."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread

from naive.constants import HOOK_SECONDS
from naive.consumer.events import Event, Hook, log, write_log


class Threads:
    """Threads that are reused, as many as are busy at the same time."""

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._lock = Lock()
        self._idle = 0
        self._number = 0

    def run(self, work: Callable[[], None]) -> None:
        """Run this in a thread of its own, which must not raise."""
        with self._lock:
            if self._idle:
                self._idle -= 1
            else:
                self._number += 1
                Thread(target=self._serve, name=f"naive-{self._number}", daemon=True).start()
        self._work.put(work)

    def close(self) -> None:
        """End the threads that are idle, and the others when they are."""
        for _ in range(self._number):
            self._work.put(None)

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            work()
            with self._lock:
                self._idle += 1


class Hooks:
    """Logs and tells what happens in a thread of its own, so that a slow hook delays no lease."""

    def __init__(self, hook: Hook | None) -> None:
        self._hook = hook
        self._events: SimpleQueue[Event | None] = SimpleQueue()
        self._thread = Thread(target=self._serve, name="naive-hooks", daemon=True)
        self._thread.start()

    def tell(self, event: Event) -> None:
        self._events.put(event)

    def close(self) -> None:
        """Wait until everything is told, but not for a hook that has stopped."""
        self._events.put(None)
        self._thread.join(HOOK_SECONDS)

    def _serve(self) -> None:
        while (event := self._events.get()) is not None:
            write_log(event)
            try:
                if self._hook:
                    self._hook(event)
            except Exception:
                log.exception("The hook failed on %s", event.kind)
