"""`naive.queue.consume`: the loop carried out with threads and with tasks, against a queue in memory."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event as Flag
from threading import Timer
from typing import Any

import pytest

from naive import Counts, Delivery, Event, InvalidInputError, NotFoundError, Retry, Stop
from tests.unit.clients.drivers import Consume, Running, with_tasks, with_threads
from tests.unit.clients.fake_api import KEY, QUEUE_ID, fifo_json, queue_json
from tests.unit.clients.fake_queue import Answer, FakeQueue, failure, messages_path

README = Path(__file__).parents[3] / "clients/python/README.md"


@pytest.fixture
def queue() -> FakeQueue:
    return FakeQueue()


@pytest.fixture(params=[with_threads, with_tasks])
def consume(request: pytest.FixtureRequest) -> Consume:
    """One way to run a consumer, and then the other."""
    chosen: Consume = request.param
    return chosen


def nothing(message: Delivery) -> None:
    pass


def test_each_message_is_handled_and_acked_and_the_counts_are_answered(consume: Consume, queue: FakeQueue) -> None:
    queue.put("a", "b", "c")
    handled: list[str] = []
    counts = consume(queue, lambda message: handled.append(message.body), idle_exit=0, wait=0)
    assert handled == queue.acked == ["a", "b", "c"]
    assert counts == Counts(received=3, started=3, done=3)


def test_the_worker_of_the_readme_runs_as_it_stands(
    queue: FakeQueue, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (worker,) = (
        block for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL) if "consume" in block
    )
    queue.put("not yet", body='"not yet"')
    queue.put("a", body='"last"')

    def work_on(job: str) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        Timer(0.2, queue.put, ["ends the poll"], {"body": '"not yet"'}).start()

    with queue.served() as url:
        monkeypatch.setenv("NAIVE_BASE_URL", url)
        monkeypatch.setenv("NAIVE_API_KEY", KEY)
        exec(worker, {"queue_id": QUEUE_ID, "is_ready": lambda job: job == "last", "work_on": work_on})
    assert (queue.acked, queue.given_back) == (["a"], [("not yet", 60), ("ends the poll", 60)])
    assert capsys.readouterr().out == "1 done, 0 failed\n"


def test_as_many_handlers_run_at_once_as_are_wanted_and_no_more(consume: Consume, queue: FakeQueue) -> None:
    queue.put(*"abcde")
    started: list[str] = []
    go_on = Flag()

    def handle(message: Delivery) -> None:
        started.append(message.body)
        go_on.wait(10)

    running = Running(consume, queue, handle, concurrency=3)
    queue.wait_for(lambda: len(started) == 3)
    time.sleep(0.1)
    assert len(started) == 3
    go_on.set()
    queue.wait_for(lambda: len(queue.acked) == 5)
    running.stop()
    queue.put("wakes the poll")
    running.ends()


def test_a_message_whose_handler_fails_is_given_back_for_longer_each_time(
    consume: Consume, queue: FakeQueue, caplog: pytest.LogCaptureFixture
) -> None:
    queue.put("first")
    queue.put("fifth", receive_count=5)

    def handle(message: Delivery) -> None:
        raise RuntimeError("no way")

    counts = consume(queue, handle, idle_exit=0, wait=0)
    delays = dict(queue.given_back)
    assert 1 <= delays["first"] <= 2
    assert 16 <= delays["fifth"] <= 32
    assert (counts.failed, counts.given_back, counts.done) == (2, 2, 0)
    assert "no way" in caplog.text


def test_retry_gives_back_after_what_it_says_and_is_no_failure(consume: Consume, queue: FakeQueue) -> None:
    queue.put("soon", "much later", "sometime")
    after = {"soon": 0.2, "much later": 10.0**9, "sometime": None}

    def handle(message: Delivery) -> None:
        raise Retry(after=after[message.body])

    counts = consume(queue, handle, idle_exit=0, wait=0)
    delays = dict(queue.given_back)
    assert (delays["soon"], delays["much later"]) == (1, 43_200)
    assert 1 <= delays["sometime"] <= 2
    assert (counts.failed, counts.given_back) == (0, 3)


@pytest.mark.parametrize("raised", [SystemExit(1), KeyboardInterrupt()])
def test_a_handler_cannot_end_the_loop_by_what_it_raises(
    consume: Consume, queue: FakeQueue, raised: BaseException
) -> None:
    queue.put("bad", "good")

    def handle(message: Delivery) -> None:
        if message.body == "bad":
            raise raised

    counts = consume(queue, handle, idle_exit=0, wait=0)
    assert (counts.done, counts.failed) == (1, 1)


def test_a_handler_can_stop_the_loop_and_what_was_not_started_is_given_back_at_once(
    consume: Consume, queue: FakeQueue
) -> None:
    queue.about = fifo_json()
    queue.put("a", "b", "c", group_id="g")
    stop = Stop()
    counts = consume(queue, lambda message: stop(), concurrency=3, stop=stop)
    assert queue.acked == ["a"]
    assert queue.given_back == [("b", 0), ("c", 0)]
    assert stop.requested
    assert (counts.done, counts.given_back, counts.unfinished) == (1, 2, 0)


def test_what_an_open_receive_brings_after_the_stop_is_worked_on(consume: Consume, queue: FakeQueue) -> None:
    running = Running(consume, queue, nothing)
    queue.wait_for(lambda: queue.polling == 1)
    running.stop()
    time.sleep(0.1)
    queue.put("late")
    counts = running.ends()
    assert (queue.acked, queue.given_back) == (["late"], [])
    assert (counts.received, counts.done, counts.given_back) == (1, 1, 0)


def test_a_stop_at_once_waits_for_no_poll_and_what_it_brings_later_is_still_given_back(queue: FakeQueue) -> None:
    running = Running(with_threads, queue, nothing)
    queue.wait_for(lambda: queue.polling == 1)
    stopped = time.monotonic()
    running.stop.now()
    assert running.ends() == Counts()
    assert time.monotonic() - stopped < 1
    queue.put("very late")
    queue.wait_for(lambda: queue.given_back == [("very late", 0)])


def test_a_stop_at_once_gives_back_what_is_being_worked_on_and_tells_the_handler(
    consume: Consume, queue: FakeQueue
) -> None:
    queue.put("a")
    given: list[Delivery] = []
    go_on = Flag()

    def handle(message: Delivery) -> None:
        given.append(message)
        go_on.wait(10)

    running = Running(consume, queue, handle)
    queue.wait_for(lambda: bool(given))
    assert not given[0].lost
    running.stop.now()
    counts = running.ends()
    go_on.set()
    assert given[0].lost
    assert (queue.acked, queue.given_back, counts.unfinished) == ([], [("a", 0)], 1)


def test_handlers_have_until_the_deadline_of_the_drain(consume: Consume, queue: FakeQueue) -> None:
    queue.put("quick", "slow")
    go_on = Flag()
    started: list[str] = []

    def handle(message: Delivery) -> None:
        started.append(message.body)
        if message.body == "slow":
            go_on.wait(10)
        else:
            time.sleep(0.3)

    running = Running(consume, queue, handle, concurrency=2, drain_seconds=0.8)
    queue.wait_for(lambda: len(started) == 2)
    running.stop()
    counts = running.ends()
    go_on.set()
    assert (queue.acked, queue.given_back) == (["quick"], [("slow", 0)])
    assert (counts.done, counts.given_back, counts.unfinished) == (1, 1, 1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_drains_and_is_then_what_it_was_before(
    consume: Consume, queue: FakeQueue, number: signal.Signals
) -> None:
    queue.put("a")
    before = signal.getsignal(number)

    def handle(message: Delivery) -> None:
        os.kill(os.getpid(), number)
        time.sleep(0.2)

    counts = consume(queue, handle)
    assert (counts.done, counts.unfinished) == (1, 0)
    assert signal.getsignal(number) is before


def test_a_second_signal_gives_everything_back_at_once(consume: Consume, queue: FakeQueue) -> None:
    queue.put("a")
    go_on = Flag()

    def handle(message: Delivery) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)
        go_on.wait(10)

    counts = consume(queue, handle)
    go_on.set()
    assert (queue.given_back, counts.unfinished) == ([("a", 0)], 1)


@pytest.fixture
def ignored_hangup() -> Iterator[None]:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("ignored_hangup")
def test_a_signal_that_is_ignored_stays_ignored(consume: Consume, queue: FakeQueue) -> None:
    queue.put("a", "b")
    stop = Stop()

    def handle(message: Delivery) -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        if message.body == "b":
            stop()

    assert consume(queue, handle, stop=stop).done == 2


def test_an_error_that_all_calls_would_meet_is_raised_once_handlers_have_ended(
    consume: Consume, queue: FakeQueue
) -> None:
    queue.put("a")
    polls: list[str] = []
    ended: list[str] = []

    def gone(method: str, path: str) -> Answer | None:
        polls.extend([path] if path == messages_path() else [])
        return failure(404, "not_found") if len(polls) == 2 and path == messages_path() else None

    def handle(message: Delivery) -> None:
        queue.wait_for(lambda: len(polls) == 2)
        time.sleep(0.1)
        ended.append(message.body)

    queue.intercept = gone
    with pytest.raises(NotFoundError):
        consume(queue, handle, concurrency=2)
    assert ended == queue.acked == ["a"]


def test_a_server_that_fails_is_asked_again(
    consume: Consume, queue: FakeQueue, caplog: pytest.LogCaptureFixture
) -> None:
    queue.put("a")
    failing = iter([None, failure(503, "unavailable"), None, failure(500, "internal_error"), (200, "nonsense")])
    queue.intercept = lambda method, path: next(failing, None)
    events: list[Event] = []
    counts = consume(queue, nothing, idle_exit=0, wait=0, on_event=events.append)
    assert (queue.acked, counts.done, counts.api_errors) == (["a"], 1, 3)
    assert [event.kind for event in events] == [
        "api_error",
        "received",
        "started",
        "api_error",
        "api_error",
        "done",
    ]
    assert caplog.text.count("A call failed") == 3


def test_a_hook_hears_everything_and_cannot_hurt(
    consume: Consume, queue: FakeQueue, caplog: pytest.LogCaptureFixture
) -> None:
    queue.put("a")
    events: list[Event] = []

    def hook(event: Event) -> None:
        events.append(event)
        raise RuntimeError("the hook is broken")

    counts = consume(queue, lambda message: time.sleep(0.05), idle_exit=0, wait=0, on_event=hook)
    assert [(event.kind, event.message and event.message.body) for event in events] == [
        ("received", "a"),
        ("started", "a"),
        ("done", "a"),
    ]
    assert 0.05 <= (events[2].seconds or 0) < 5
    assert counts.done == 1
    assert "the hook is broken" in caplog.text


def test_a_hook_that_hangs_delays_no_ack(consume: Consume, queue: FakeQueue) -> None:
    queue.put("a")
    go_on = Flag()
    running = Running(consume, queue, nothing, on_event=lambda event: go_on.wait(10))
    queue.wait_for(lambda: queue.acked == ["a"])
    running.stop()
    queue.put("wakes the poll")
    go_on.set()
    running.ends()


async def asynchronous(message: Delivery) -> None:
    pass


def test_an_asynchronous_handler_is_refused_by_those_who_would_not_run_it(queue: FakeQueue) -> None:
    with pytest.raises(TypeError, match="asynchronous"):
        with_threads(queue, asynchronous)
    queue.put("a")
    counts = with_threads(queue, lambda message: asynchronous(message), idle_exit=0, wait=0)
    assert (counts.failed, queue.acked) == (1, [])


def test_a_message_knows_whether_this_is_its_last_chance(consume: Consume, queue: FakeQueue) -> None:
    queue.about = queue_json(dlq=True, max_receive_count=3)
    for receives in (1, 2, 3, 4):
        queue.put(f"r{receives}", receive_count=receives, attributes={"kind": "x"})
    seen: dict[str, tuple[bool | None, object]] = {}

    def handle(message: Delivery) -> None:
        seen[message.body] = (message.last_chance, message.attributes)
        raise Retry

    consume(queue, handle, idle_exit=0, wait=0)
    assert {body: last for body, (last, _) in seen.items()} == {"r1": False, "r2": False, "r3": True, "r4": True}
    assert {attributes["kind"] for _, attributes in seen.values()} == {"x"}  # type: ignore[index]  # they are there
    assert dict(queue.given_back)["r3"] == 0, "what dies next time has nothing to wait for"


def test_without_dead_letters_there_is_no_last_chance(consume: Consume, queue: FakeQueue) -> None:
    queue.put("a", receive_count=999)
    seen: list[bool | None] = []
    consume(queue, lambda message: seen.append(message.last_chance), idle_exit=0, wait=0)
    assert seen == [None]


def test_the_queue_is_looked_up_by_its_id_in_the_name_of_the_user(consume: Consume, queue: FakeQueue) -> None:
    stop = Stop()
    stop()
    consume(queue, nothing, user="u-1", stop=stop)
    assert queue.requests == [f"GET /v1/users/u-1/queue/{QUEUE_ID}"], "a loop that was stopped before receives nothing"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"concurrency": 0}, "concurrency has to be at least 1"),
        ({"max": 11}, "max has to be 1 to 10"),
        ({"wait": 21}, "wait has to be 0 to 20"),
        ({"visibility": 4}, "visibility has to be 5 to 43200"),
        ({"drain_seconds": -1}, "drain_seconds has to be at least 0"),
        ({"idle_exit": -1}, "idle_exit has to be at least 0"),
        ({"concurrency": "4"}, "concurrency has to be at least 1"),
        ({"wait": True}, "wait has to be 0 to 20"),
    ],
)
def test_a_number_out_of_range_is_refused_by_name(
    consume: Consume, queue: FakeQueue, options: dict[str, Any], named: str
) -> None:
    with pytest.raises(InvalidInputError, match=named):
        consume(queue, nothing, **options)


def test_a_handler_that_is_none_is_refused_before_it_costs_a_message(queue: FakeQueue) -> None:
    with queue.client() as naive, pytest.raises(InvalidInputError, match="handler has to be a function"):
        naive.queue.consume(QUEUE_ID, None)  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize("after", [-1, float("nan"), "5", True])
def test_a_retry_is_after_a_number_of_seconds(after: Any) -> None:
    with pytest.raises(InvalidInputError, match="after has to be a number of seconds"):
        Retry(after=after)
