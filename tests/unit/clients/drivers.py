"""The two ways to run a consumer, each as a call that blocks: a test of what they share need not know which it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from threading import Thread
from typing import Any, Protocol

from naive import AsyncUserClient, Counts, Delivery, Stop, UserClient
from tests.unit.clients.background import in_thread
from tests.unit.clients.fake_api import QUEUE_ID
from tests.unit.clients.fake_queue import FakeQueue

Handler = Callable[[Delivery], object]


class Consume(Protocol):
    """Works on the fake queue until it is stopped."""

    def __call__(self, queue: FakeQueue, handler: Handler, user: str | None = None, **options: Any) -> Counts: ...


def with_threads(queue: FakeQueue, handler: Handler, user: str | None = None, **options: Any) -> Counts:
    """By the blocking client."""
    client = queue.client()
    acting: UserClient = client.for_user(user) if user else client
    return acting.queue.consume(QUEUE_ID, handler, **options)


def with_tasks(queue: FakeQueue, handler: Handler, user: str | None = None, **options: Any) -> Counts:
    """By the asynchronous client, whose handlers wait for the same handler in a thread."""

    async def handle(delivery: Delivery) -> None:
        await in_thread(handler, delivery)

    if hook := options.get("on_event"):
        options["on_event"] = partial(in_thread, hook)

    async def run() -> Counts:
        async with queue.async_client() as client:
            acting: AsyncUserClient = client.for_user(user) if user else client
            return await acting.queue.consume(QUEUE_ID, handle, **options)

    return asyncio.run(run())


class Running:
    """A consumer in a thread of its own."""

    def __init__(self, consume: Consume, queue: FakeQueue, handler: Handler, **options: Any) -> None:
        self.stop = Stop()
        self.counts: Counts | None = None
        self.ended_with: BaseException | None = None
        self._thread = Thread(target=self._work, args=(consume, queue, handler, options))
        self._thread.start()

    def ends(self, seconds: float = 10.0) -> Counts:
        """Wait for its end, which is a good one."""
        self._thread.join(seconds)
        assert not self._thread.is_alive(), "it does not end"
        if self.ended_with is not None:
            raise self.ended_with
        assert self.counts is not None
        return self.counts

    def _work(self, consume: Consume, queue: FakeQueue, handler: Handler, options: dict[str, Any]) -> None:
        try:
            self.counts = consume(queue, handler, stop=self.stop, **options)
        except BaseException as error:
            self.ended_with = error
