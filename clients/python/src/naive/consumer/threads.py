"""A loop carried out with threads: this module does what the loop says, and decides nothing."""

from __future__ import annotations

import inspect
import random
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock

from naive.blocking.consuming import Calls
from naive.consumer.commands import Command, Protect, Receive, Settle, Start
from naive.consumer.daemons import Hooks, Threads
from naive.consumer.delivery import Around, Delivery
from naive.consumer.events import Counts, Hook
from naive.consumer.loop import Loop
from naive.consumer.protection import Protection
from naive.consumer.settings import Settings, require_handler
from naive.consumer.stop import Stop, heeding_signals

Handler = Callable[[Delivery], object]

_LONGEST_SLEEP = 3600.0


def run(
    settings: Settings,
    calls: Calls,
    handler: Handler,
    stop: Stop,
    hook: Hook | None,
    protection: Protection | None,
    handle_signals: bool,
    around: Around,
) -> Counts:
    """Work until stopped, and answer the counts; raises in the end what made the loop stop by itself."""
    require_handler(handler)
    if inspect.iscoroutinefunction(handler):
        raise TypeError("The handler is asynchronous: calling it would not run it.")
    hooks = Hooks(hook)
    runner = _Runner(settings, calls, handler, stop, hooks, protection, around)
    try:
        with stop.telling(runner.poke), heeding_signals(stop, handle_signals):
            return runner.run()
    finally:
        runner.close()
        hooks.close()
        if protection:
            protection.close()


class _Runner:
    """One run of a loop, in the thread that asked for it."""

    def __init__(
        self,
        settings: Settings,
        calls: Calls,
        handler: Handler,
        stop: Stop,
        hooks: Hooks,
        protection: Protection | None,
        around: Around,
    ) -> None:
        self._loop = Loop(settings, random.random, time.monotonic())
        self._calls = calls
        self._handler = handler
        self._stop = stop
        self._hooks = hooks
        self._protection = protection
        self._around = around
        self._threads = Threads()
        self._inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()  # what has happened, as calls of the loop
        self._lock = Lock()
        self._is_closed = False

    def run(self) -> Counts:
        """Turn until the loop is over."""
        self._heed_stop()
        self._begin()
        while not self._loop.is_over:
            self._wait()
            self._begin()
        if self._loop.failure is not None:
            raise self._loop.failure
        return self._loop.counts

    def poke(self) -> None:
        """Have the loop look at what it was told about stopping. A signal handler may call it at any moment."""
        self._inbox.put(self._heed_stop)

    def close(self) -> None:
        """Listen no more: what is still under way ends by itself."""
        with self._lock:
            self._is_closed = True
        self._threads.close()

    def _begin(self) -> None:
        for command in self._loop.step(time.monotonic()):
            self._threads.run(partial(self._carry_out, command))
        for event in self._loop.take_events():
            self._hooks.tell(event)

    def _wait(self) -> None:
        """Wait for the next thing to happen, and take with it whatever else has happened by then."""
        seconds = min(max(0.0, self._loop.wake_at() - time.monotonic()), _LONGEST_SLEEP)
        with suppress(Empty):
            self._inbox.get(timeout=seconds)()
            while True:
                self._inbox.get_nowait()()

    def _heed_stop(self) -> None:
        if self._stop.at_once:
            self._loop.stop_at_once(time.monotonic())
        elif self._stop.requested:
            self._loop.stop(time.monotonic())

    def _carry_out(self, command: Command) -> None:
        match command:
            case Receive():
                self._receive(command)
            case Settle():
                self._settle(command)
            case Start():
                self._handle(command)
            case Protect():
                granted = self._protection is not None and self._protection.change(command.minutes)
                self._report(partial(self._loop.protected, command, granted))

    def _receive(self, call: Receive) -> None:
        try:
            messages = self._calls.receive(call)
        except Exception as failure:
            self._report(partial(self._loop.receive_failed, call, failure))
            return
        if not self._report(partial(self._loop.received, call, messages)):
            self._calls.give_back(messages)

    def _settle(self, call: Settle) -> None:
        try:
            answer = self._calls.settle(call)
        except Exception as failure:
            self._report(partial(self._loop.settle_failed, call, failure))
            return
        self._report(partial(self._loop.settled, call, answer))

    def _handle(self, start: Start) -> None:
        error: BaseException | None = None
        try:
            with self._around(start.lease.delivery):
                result = self._handler(start.lease.delivery)
                if inspect.iscoroutine(result):
                    result.close()
                    raise TypeError("The handler is asynchronous: what it gave back was not run.")
        except BaseException as raised:  # also a SystemExit, which would end this thread and nothing else
            error = raised
        self._report(partial(self._loop.finished, start, error))

    def _report(self, happened: Callable[[float], None]) -> bool:
        """Tell the loop what happened, and that it is now; the answer is whether it still listens."""
        with self._lock:
            if not self._is_closed:
                self._inbox.put(partial(happened, time.monotonic()))
            return not self._is_closed
