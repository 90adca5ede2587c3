"""What goes wrong in the life of a worker, with threads and with tasks, against a queue that leases."""

from __future__ import annotations

import time
from collections.abc import Iterator
from threading import Lock
from typing import Any

import pytest

from naive import Delivery
from naive.consumer import settings
from tests.unit.clients.drivers import Consume, Running, with_tasks, with_threads
from tests.unit.clients.fake_api import fifo_json
from tests.unit.clients.fake_queue import Answer, failure
from tests.unit.clients.leasing_queue import Journal, LeasingQueue


@pytest.fixture(params=[with_threads, with_tasks])
def consume(request: pytest.FixtureRequest) -> Consume:
    """One way to run a consumer, and then the other."""
    chosen: Consume = request.param
    return chosen


@pytest.fixture(autouse=True)
def short_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases of two seconds, where users have to have five."""
    monkeypatch.setattr(settings, "LEAST_VISIBILITY", 2)


class Handler:
    """Works on messages, fails at some of them once, and keeps a journal."""

    def __init__(self, seconds: float = 0.0, failing: frozenset[str] = frozenset(), by_group: bool = False) -> None:
        self.journal = Journal()
        self.done: list[str] = []
        self._seconds = seconds
        self._failing = set(failing)
        self._by_group = by_group
        self._lock = Lock()

    def __call__(self, message: Delivery) -> None:
        names = [message.body, *([f"group {message.group_id}"] if self._by_group else [])]
        with self._lock:
            self.journal.begin(*names)
        try:
            time.sleep(self._seconds)
            with self._lock:
                if message.body in self._failing:
                    self._failing.remove(message.body)
                    raise RuntimeError("not this time")
                if not message.lost:
                    self.done.append(message.body)
        finally:
            with self._lock:
                self.journal.end(*names)


def until_empty(consume: Consume, queue: LeasingQueue, handler: Handler, **options: Any) -> Any:
    """Run a consumer until nothing is left, and give its counts."""
    running = Running(consume, queue, handler, wait=1, **options)
    queue.wait_for(lambda: not queue.left(), 60)
    running.stop()
    counts = running.ends()
    assert handler.journal.faults == []
    return counts


def test_a_handler_slower_than_the_lease_keeps_its_message(consume: Consume) -> None:
    queue = LeasingQueue()
    queue.fill(["slow", "slower"])
    handler = Handler(seconds=5)
    counts = until_empty(consume, queue, handler, concurrency=2, visibility=2)
    assert sorted(handler.done) == ["slow", "slower"]
    assert (queue.expired, counts.lost, counts.done) == (0, 0, 2)
    assert counts.extended >= 4


def test_five_hundred_messages_of_which_some_fail_are_each_done_once(consume: Consume) -> None:
    queue = LeasingQueue()
    ids = [f"m{number}" for number in range(500)]
    queue.fill(ids)
    handler = Handler(failing=frozenset(ids[::20]))
    counts = until_empty(consume, queue, handler, concurrency=10, visibility=5)
    assert sorted(handler.done) == sorted(ids) == sorted(queue.acked)
    assert (counts.failed, counts.given_back, counts.done, counts.lost) == (25, 25, 500, 0)
    assert [queue.receives_of(id) for id in ids[::20]] == [2] * 25
    assert queue.expired == 0


def test_an_api_that_is_down_for_a_while_loses_and_doubles_nothing(consume: Consume) -> None:
    queue = LeasingQueue()
    ids = [f"m{number}" for number in range(40)]
    queue.fill(ids)
    handler = Handler(seconds=0.02)
    down: list[float] = []

    def out_of_order(method: str, path: str) -> Answer | None:
        if path.endswith("/settle") and len(queue.acked) >= 8 and not down:
            down.append(time.monotonic())
        is_down = down and time.monotonic() < down[0] + 1.0
        return failure(503, "unavailable") if is_down else None

    queue.intercept = out_of_order
    counts = until_empty(consume, queue, handler, concurrency=4, visibility=5)
    assert sorted(handler.done) == sorted(ids)
    assert [queue.receives_of(id) for id in ids] == [1] * 40
    assert (counts.lost, counts.done, queue.expired) == (0, 40, 0)
    assert counts.api_errors >= 1


def test_a_worker_that_is_stopped_in_mid_batch_leaves_no_lease_behind(consume: Consume) -> None:
    queue = LeasingQueue()
    ids = [f"m{number}" for number in range(30)]
    queue.fill(ids)
    first = Handler(seconds=0.05)
    running = Running(consume, queue, first, concurrency=8, visibility=30, wait=1)
    queue.wait_for(lambda: len(first.done) >= 8)
    running.stop()
    counts = running.ends()
    assert queue.in_flight() == [], "somebody would have to wait until these leases end"
    assert counts.unfinished == 0
    assert sorted(queue.acked) == sorted(first.done)
    second = Handler()
    until_empty(consume, queue, second, concurrency=8)
    assert sorted(first.done + second.done) == sorted(ids)


def test_the_wall_clock_may_jump_as_it_likes(consume: Consume, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = LeasingQueue()
    queue.fill(["a", "b", "c"])
    handler = Handler(seconds=3)
    wall = time.time

    def jumps() -> Iterator[float]:
        while True:
            yield from (0.0, 86_400.0, -86_400.0)

    jump = jumps()
    monkeypatch.setattr(time, "time", lambda: wall() + next(jump))
    counts = until_empty(consume, queue, handler, concurrency=3, visibility=2)
    assert (counts.done, counts.lost, queue.expired) == (3, 0, 0)


@pytest.mark.parametrize("dlq", [False, True])
def test_fifo_keeps_the_order_of_each_group_and_works_on_groups_at_the_same_time(consume: Consume, dlq: bool) -> None:
    queue = LeasingQueue(about=fifo_json(dlq=dlq, max_receive_count=5 if dlq else None))
    ids = [f"{number:03}" for number in range(60)]
    queue.fill(ids, groups=4)
    handler = Handler(seconds=0.01, failing=frozenset(ids[:4]), by_group=True)
    counts = until_empty(consume, queue, handler, concurrency=8, visibility=5)
    for group in range(4):
        assert [id for id in handler.done if int(id) % 4 == group] == ids[group::4]
    assert handler.journal.most >= 4, "it worked on one group at a time"
    assert (counts.lost, queue.expired, counts.failed) == (0, 0, 4)
