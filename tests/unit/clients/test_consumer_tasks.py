"""`consume` of the asynchronous client: what only asyncio has."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine
from threading import Thread
from typing import Any

import pytest

from naive import Counts, Delivery, Event, Stop
from tests.unit.clients.fake_api import QUEUE_ID, fifo_json
from tests.unit.clients.fake_queue import Answer, FakeQueue


@pytest.fixture
def queue() -> FakeQueue:
    return FakeQueue()


def consume(queue: FakeQueue, handler: Callable[[Delivery], Awaitable[object]], **options: Any) -> Counts:
    """Work on the queue in a loop of asyncio's own."""

    async def run() -> Counts:
        async with queue.async_client() as client:
            return await client.queue.consume(QUEUE_ID, handler, **options)

    return asyncio.run(run())


def play(queue: FakeQueue, scene: Callable[..., Coroutine[Any, Any, None]]) -> None:
    """Run a scene that gets the calls of queues and the running consumer's task from its own code."""

    async def run() -> None:
        async with queue.async_client() as client:
            await scene(client.queue)

    asyncio.run(run())


async def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until this is so."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


async def nothing(message: Delivery) -> None:
    pass


def test_handlers_wait_for_each_other_in_one_thread(queue: FakeQueue) -> None:
    queue.put("a", "b", "c")
    barrier: list[asyncio.Barrier] = []
    threads: set[int] = set()

    async def handle(message: Delivery) -> None:
        barrier.extend([] if barrier else [asyncio.Barrier(3)])
        threads.add(threading.get_ident())
        await barrier[0].wait()

    assert consume(queue, handle, concurrency=3, idle_exit=0, wait=0).done == 3
    assert sorted(queue.acked) == ["a", "b", "c"]
    assert threads == {threading.get_ident()}


def test_a_handler_that_is_not_asynchronous_has_failed_and_is_told_why(
    queue: FakeQueue, caplog: pytest.LogCaptureFixture
) -> None:
    queue.put("a")
    wrong: Any = lambda message: None  # noqa: E731  # as a program without types
    assert consume(queue, wrong, idle_exit=0, wait=0).failed == 1
    assert "async def" in caplog.text
    assert queue.acked == []


def test_a_task_that_is_cancelled_cancels_its_handlers_and_gives_all_back(queue: FakeQueue) -> None:
    queue.about = fifo_json()
    queue.put("a", "b", group_id="g")
    ended: list[str] = []

    async def handle(message: Delivery) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(f"{message.body} {message.lost}")

    async def scene(queues: Any) -> None:
        task = asyncio.create_task(queues.consume(QUEUE_ID, handle, concurrency=3))
        await until(lambda: queue.polling == 1 and len(queue.requests) > 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert queue.given_back == [("a", 0), ("b", 0)]
        await until(lambda: ended == ["a True"])

    play(queue, scene)
    assert queue.acked == []


def test_a_task_that_is_cancelled_twice_waits_for_nothing(queue: FakeQueue) -> None:
    queue.put("a")
    settling = threading.Event()
    go_on = threading.Event()

    def slow(method: str, path: str) -> Answer | None:
        if path.endswith("/settle"):
            settling.set()
            go_on.wait(10)
        return None

    queue.intercept = slow

    async def scene(queues: Any) -> None:
        task = asyncio.create_task(queues.consume(QUEUE_ID, lambda message: asyncio.sleep(60)))
        await until(lambda: queue.polling == 0 and len(queue.requests) == 2)
        task.cancel()
        await until(settling.is_set)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()

    play(queue, scene)


def test_a_handler_that_cancels_itself_has_failed(queue: FakeQueue) -> None:
    queue.put("a", "b")

    async def handle(message: Delivery) -> None:
        if message.body == "a":
            raise asyncio.CancelledError

    counts = consume(queue, handle, idle_exit=0, wait=0)
    assert (counts.failed, counts.given_back, counts.done) == (1, 1, 1)


def test_a_handler_whose_message_is_lost_is_cancelled_and_its_place_is_free(queue: FakeQueue) -> None:
    queue.put("lost", "next")
    over = {"error": {"code": "receipt_expired", "message": "over"}}
    ended: list[str] = []

    def lose(method: str, path: str) -> Answer | None:
        first = path.endswith("/settle") and not ended
        return (200, {"ack": [], "retry": [], "extend": [over]}) if first else None

    async def handle(message: Delivery) -> None:
        if message.body == "lost":
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(message.body)

    queue.intercept = lose
    counts = consume(queue, handle, idle_exit=0, wait=0, visibility=5)
    assert (ended, queue.acked) == (["lost"], ["next"])
    assert (counts.lost, counts.failed, counts.done, counts.unfinished) == (1, 0, 1, 0)


def test_a_stop_comes_from_another_thread(queue: FakeQueue) -> None:
    queue.put("a")
    stop = Stop()

    async def handle(message: Delivery) -> None:
        thread = Thread(target=stop)
        thread.start()
        while not stop.requested:
            await asyncio.sleep(0.005)
        queue.put("ends the poll")

    assert consume(queue, handle, stop=stop).done == 1
    stop()  # when nobody listens any more


def test_what_a_poll_brings_after_a_stop_at_once_is_given_back_while_asyncio_runs(queue: FakeQueue) -> None:
    async def scene(queues: Any) -> None:
        stop = Stop()
        task = asyncio.create_task(queues.consume(QUEUE_ID, nothing, stop=stop))
        await until(lambda: queue.polling == 1)
        stop.now()
        assert await task == Counts()
        queue.put("very late")
        await until(lambda: queue.given_back == [("very late", 0)])

    play(queue, scene)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_are_left_to_a_program_that_wants_them(queue: FakeQueue, number: signal.Signals) -> None:
    queue.put("a")
    heard: list[int] = []
    stop = Stop()

    async def handle(message: Delivery) -> None:
        os.kill(os.getpid(), number)
        await until(lambda: bool(heard))
        assert not stop.requested
        stop()
        queue.put("ends the poll")

    async def run() -> Counts:
        asyncio.get_running_loop().add_signal_handler(number, heard.append, number)
        async with queue.async_client() as client:
            return await client.queue.consume(QUEUE_ID, handle, stop=stop, handle_signals=False)

    before = signal.getsignal(number)
    try:
        assert asyncio.run(run()).done == 1
    finally:
        signal.signal(number, before)
    assert heard == [number]


def test_a_hook_need_not_be_asynchronous(queue: FakeQueue) -> None:
    queue.put("a")
    events: list[Event] = []
    consume(queue, nothing, idle_exit=0, wait=0, on_event=events.append)
    assert [event.kind for event in events] == ["received", "started", "done"]


def test_two_consumers_share_a_loop_of_asyncio(queue: FakeQueue) -> None:
    queue.put(*(f"m{number}" for number in range(20)))

    async def scene(queues: Any) -> None:
        both = [queues.consume(QUEUE_ID, nothing, concurrency=2, idle_exit=0, wait=0) for _ in range(2)]
        counts = await asyncio.gather(*both)
        assert sum(count.done for count in counts) == 20

    play(queue, scene)
    assert sorted(queue.acked) == sorted(f"m{number}" for number in range(20))
