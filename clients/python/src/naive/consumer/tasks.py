"""A loop carried out with asyncio: this module does what the loop says, and decides nothing."""

from __future__ import annotations

import asyncio
import inspect
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

from naive.aio.consuming import AsyncCalls
from naive.aio.either import tell
from naive.constants import HOOK_SECONDS
from naive.consumer.commands import Command, Protect, Receive, Settle, Start
from naive.consumer.delivery import Around, Delivery, Retry
from naive.consumer.events import Counts, Event, Hook, log, write_log
from naive.consumer.loop import Loop
from naive.consumer.protection import Protection
from naive.consumer.settings import Settings, require_handler
from naive.consumer.stop import Stop, heeding_signals

Handler = Callable[[Delivery], Awaitable[object]]

_LONGEST_SLEEP = 3600.0

# What is under way when a loop ends goes on in the background; asyncio itself would forget it.
_background: set[asyncio.Task[None]] = set()


async def run(
    settings: Settings,
    calls: AsyncCalls,
    handler: Handler,
    stop: Stop,
    hook: Hook | None,
    protection: Protection | None,
    handle_signals: bool,
    around: Around,
) -> Counts:
    """Work until stopped, and answer the counts; raises in the end what made the loop stop by itself."""
    require_handler(handler)
    hooks = _Hooks(hook)
    runner = _Runner(settings, calls, handler, stop, hooks, protection, around)
    try:
        with stop.telling(runner.poke), heeding_signals(stop, handle_signals):
            return await runner.run()
    finally:
        runner.close()
        await hooks.close()
        if protection:
            await asyncio.to_thread(protection.close)


class _Runner:
    """One run of a loop, in the task that asked for it."""

    def __init__(
        self,
        settings: Settings,
        calls: AsyncCalls,
        handler: Handler,
        stop: Stop,
        hooks: _Hooks,
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
        self._threads = asyncio.get_running_loop()
        self._happened = asyncio.Event()
        self._handling: dict[asyncio.Task[None], Delivery] = {}
        self._is_closed = False

    async def run(self) -> Counts:
        """Turn until the loop is over. A task that is cancelled gives everything back first."""
        cancelled: asyncio.CancelledError | None = None
        self._heed_stop()
        self._begin()
        while not self._loop.is_over:
            try:
                await self._wait()
            except asyncio.CancelledError as cancellation:
                if cancelled:
                    raise
                cancelled = cancellation
                self._loop.stop_at_once(time.monotonic())
            self._begin()
        if cancelled:
            raise cancelled
        if self._loop.failure is not None:
            raise self._loop.failure
        return self._loop.counts

    def poke(self) -> None:
        """Have the loop look at what it was told about stopping. Other threads and signal handlers may call it."""
        with suppress(RuntimeError):  # asyncio's loop is closed, and nobody is left to be told
            self._threads.call_soon_threadsafe(self._heed_stop)

    def close(self) -> None:
        """Listen no more: what is still under way ends by itself."""
        self._is_closed = True

    def _begin(self) -> None:
        for command in self._loop.step(time.monotonic()):
            self._carry_out(command)
        for event in self._loop.take_events():
            self._hooks.tell(event)
        for task, delivery in list(self._handling.items()):
            if delivery.lost:  # the message may be in other hands by now
                del self._handling[task]
                task.cancel()

    async def _wait(self) -> None:
        """Wait for the next thing to happen."""
        seconds = min(max(0.0, self._loop.wake_at() - time.monotonic()), _LONGEST_SLEEP)
        alarm = self._threads.call_later(seconds, self._happened.set)
        try:
            await self._happened.wait()
        finally:
            alarm.cancel()
        self._happened.clear()

    def _heed_stop(self) -> None:
        if self._stop.at_once:
            self._loop.stop_at_once(time.monotonic())
        elif self._stop.requested:
            self._loop.stop(time.monotonic())
        self._happened.set()

    def _carry_out(self, command: Command) -> None:
        match command:
            case Receive():
                _in_background(self._receive(command))
            case Settle():
                _in_background(self._settle(command))
            case Start():
                task = _in_background(self._handle(command))
                self._handling[task] = command.lease.delivery
                task.add_done_callback(lambda done: self._handling.pop(done, None))
            case Protect():
                _in_background(self._protect(command))

    async def _receive(self, call: Receive) -> None:
        try:
            messages = await self._calls.receive(call)
        except Exception as failure:
            self._report(partial(self._loop.receive_failed, call, failure))
            return
        if not self._report(partial(self._loop.received, call, messages)):
            await self._calls.give_back(messages)

    async def _settle(self, call: Settle) -> None:
        try:
            answer = await self._calls.settle(call)
        except Exception as failure:
            self._report(partial(self._loop.settle_failed, call, failure))
            return
        self._report(partial(self._loop.settled, call, answer))

    async def _handle(self, start: Start) -> None:
        error: BaseException | None = None
        try:
            with self._around(start.lease.delivery):
                working = self._handler(start.lease.delivery)
                if not inspect.isawaitable(working):
                    raise TypeError("The handler is not asynchronous: it has to be an `async def`.")
                await working
        except asyncio.CancelledError as cancelled:
            error = Retry() if start.lease.delivery.lost else cancelled
        except BaseException as raised:  # also a SystemExit, which would end the whole program
            error = raised
        self._report(partial(self._loop.finished, start, error))

    async def _protect(self, call: Protect) -> None:
        granted = self._protection is not None and await asyncio.to_thread(self._protection.change, call.minutes)
        self._report(partial(self._loop.protected, call, granted))

    def _report(self, happened: Callable[[float], None]) -> bool:
        """Tell the loop what happened, and that it is now; the answer is whether it still listens."""
        if not self._is_closed:
            happened(time.monotonic())
            self._happened.set()
        return not self._is_closed


class _Hooks:
    """Logs and tells what happens in a task of its own, so that a slow hook delays no lease."""

    def __init__(self, hook: Hook | None) -> None:
        self._hook = hook
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._task = _in_background(self._serve())

    def tell(self, event: Event) -> None:
        self._events.put_nowait(event)

    async def close(self) -> None:
        """Wait until everything is told, but not for a hook that has stopped."""
        self._events.put_nowait(None)
        await asyncio.wait([self._task], timeout=HOOK_SECONDS)

    async def _serve(self) -> None:
        while (event := await self._events.get()) is not None:
            write_log(event)
            try:
                if self._hook:
                    await tell(self._hook, event)
            except Exception:
                log.exception("The hook failed on %s", event.kind)


def _in_background(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    task = asyncio.get_running_loop().create_task(work)
    _background.add(task)
    task.add_done_callback(_background.discard)
    return task
