"""Blocking work for a test whose code is asynchronous."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any


async def in_thread[Result](work: Callable[..., Result], *arguments: object) -> Result:
    """What the work gives, done in a thread that nobody waits for who does not want to."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Result] = loop.create_future()

    def tell(settle: Callable[[Any], None], outcome: object) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(lambda: None if done.done() else settle(outcome))

    def run() -> None:
        try:
            result = work(*arguments)
        except BaseException as error:
            tell(done.set_exception, error)
        else:
            tell(done.set_result, result)

    Thread(target=run, daemon=True).start()
    return await done
