"""Services of queues on the deployed stack: woken by a send, as many as the messages need, and at rest in the end."""

import json
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from local import processes
from tests.e2e.conftest import Api, client, eventually, unique
from tests.e2e.deployed import invoked, operator
from tests.e2e.scenarios import desired, leave, put_to_sleep, record

WAKES = 20
JOBS = 200
MAX = 4
IDLE_SECONDS = 60


@pytest.fixture
def own() -> Iterator[Api]:
    """The client of a company that has nothing else."""
    with client(invoked("bootstrap", company=unique())["api_key"]) as http:
        yield Api(http)


@contextmanager
def worked(own: Api, script: str, *, asleep: bool = True, **settings: Any) -> Iterator[tuple[str, str]]:
    """A queue and the service that works it off by `naive queue work`; nobody looks at it until somebody sends."""
    queue = own.queue(**settings)
    service = own.service(queue_id=queue, command=["naive", "queue", "work", "--exec", script])
    if asleep:
        put_to_sleep(queue)
    try:
        yield queue, service
    finally:
        own("DELETE", f"/v1/compute/{service}")


def shown(own: Api, service: str) -> Any:
    return own("GET", f"/v1/compute/{service}").json()


def eventually_for(own: Api, service: str, reason: str, seconds: float = 60) -> Any:
    """The service once it says this reason for its count: it is said after the count was set."""
    return eventually(lambda: shown(own, service), lambda found: found["last_scale_reason"] == reason, seconds)


def seconds_until(begun: float, happened: Any) -> float:
    eventually(happened, bool)
    return time.monotonic() - begun


def test_a_send_wakes_a_sleeping_service_and_its_worker_works(
    own: Api, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    counted, received = list[float](), list[float]()
    for number in range(WAKES):
        done = tmp_path / str(number)
        with worked(own, f"touch {done}") as (queue, service):
            assert desired(service) == 0
            own.send(queue)
            begun = time.monotonic()
            counted.append(seconds_until(begun, lambda: desired(service)))  # called here
            received.append(seconds_until(begun, done.exists))
            assert desired(service) == 1
    for what, times in (("desired count 1", counted), ("worker has the message", received)):
        median, worst = statistics.median(times), max(times)
        record_property(f"{WAKES} wakes, {what}", f"median {median:.2f} s, worst {worst:.2f} s")


def test_two_hundred_messages_have_as_many_workers_as_there_may_be_each_once_and_none_in_the_end(
    own: Api, tmp_path: Path
) -> None:
    history = tmp_path / "history"
    with worked(own, f'echo "$NAIVE_MESSAGE_ID" >> {history}; sleep 0.2', visibility_timeout=30) as (queue, service):
        assert own("PATCH", f"/v1/queue/{queue}/consumer", {"max": MAX}).status_code == 200
        for start in range(0, JOBS, 100):
            entries = [{"body": str(number)} for number in range(start, start + 100)]
            assert own("POST", f"/v1/queue/{queue}/messages/batch", {"messages": entries}).status_code == 200
        assert eventually(lambda: shown(own, service)["desired"], lambda count: count == MAX) == MAX
        counts = eventually(
            lambda: own.counts(queue), lambda counts: counts["depth"] == counts["in_flight"] == 0, seconds=120
        )
        assert counts["dlq_depth"] is None
        deliveries = Counter(history.read_text().split())
        assert (len(deliveries), set(deliveries.values())) == (JOBS, {1})
        assert eventually_for(own, service, f"idle for {IDLE_SECONDS} s", seconds=120)["desired"] == 0


def test_a_worker_that_is_stopped_in_the_middle_of_a_message_ends_with_it(own: Api, tmp_path: Path) -> None:
    history = tmp_path / "history"
    script = f"echo begun >> {history}; sleep 4; echo done >> {history}"
    with worked(own, script, visibility_timeout=5) as (queue, service):
        own.send(queue)
        eventually(history.exists, bool)
        assert own("POST", f"/v1/compute/{service}/stop").json()["desired"] == 0
        eventually(lambda: own.counts(queue), lambda counts: counts["depth"] == counts["in_flight"] == 0)
        time.sleep(6)  # One that was given back would be there again by now.
        assert history.read_text().split() == ["begun", "done"]
        assert own("POST", f"/v1/compute/{service}/start").json()["desired"] == 0, "there is nothing to do"


def test_a_busy_worker_that_is_stopped_takes_nothing_new(own: Api, tmp_path: Path) -> None:
    history = tmp_path / "history"
    with worked(own, f"echo x >> {history}; sleep 1") as (queue, service):
        own.send(queue)
        for start in range(0, 60, 20):
            entries = [{"body": str(number)} for number in range(start, start + 20)]
            assert own("POST", f"/v1/queue/{queue}/messages/batch", {"messages": entries}).status_code == 200
        assert own("PATCH", f"/v1/queue/{queue}/consumer", {"max": 1}).status_code == 200
        eventually(history.exists, bool)
        assert own("POST", f"/v1/compute/{service}/stop").status_code == 200
        eventually(
            lambda: any(str(history) in process.command for process in processes.running()), lambda found: not found
        )
        counts = own.counts(queue)
        assert counts["in_flight"] == 0
        assert counts["depth"] > 0, "it has worked off the whole queue"
        assert len(history.read_text().split()) == 61 - counts["depth"]


def test_a_message_that_is_sent_with_a_delay_wakes_when_it_falls_due(own: Api, tmp_path: Path) -> None:
    done = tmp_path / "done"
    with worked(own, f"touch {done}") as (queue, service):
        begun = time.monotonic()
        own.send(queue, delay_seconds=5)
        eventually(lambda: desired(service), bool)
        assert time.monotonic() - begun > 3, "it was woken long before it had to be"
        eventually(done.exists, bool)


def test_with_ticks_and_alarm_cut_off_the_reconciler_alone_wakes_and_puts_to_sleep(own: Api, tmp_path: Path) -> None:
    done = tmp_path / "done"
    with worked(own, f"touch {done}") as (queue, service), without_ticks():
        own.send(queue)
        time.sleep(2)
        assert desired(service) == 0, "something else has woken it"
        invoked("reconcile")
        assert desired(service) == 1
        eventually(done.exists, bool)
        eventually(lambda: own.counts(queue), lambda counts: counts["depth"] == counts["in_flight"] == 0)
        let_time_pass(queue)
        invoked("reconcile")
        let_time_pass(queue)
        invoked("reconcile")
        assert desired(service) == 0
        for _ in range(2):
            let_time_pass(queue)
            invoked("reconcile")
        assert record("QUEUE", queue)["scaling"]["M"]["mode"]["S"] == "asleep"


@contextmanager
def without_ticks() -> Iterator[None]:
    """The tick queue feeds nobody while the block runs."""
    functions = operator("lambda")
    (mapping,) = functions.list_event_source_mappings(FunctionName="naive-local-depth_alarm")["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    time.sleep(2)
    try:
        yield
    finally:
        functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)


def let_time_pass(queue: str) -> None:
    """Lets the queue's record say that all that it waits for began long ago."""
    state = record("QUEUE", queue)["scaling"]
    for name in "look_at", "idle_since", "scaled_at":
        if "N" in state["M"][name]:
            state["M"][name] = {"N": str(int(state["M"][name]["N"]) - 600)}
    leave("QUEUE", queue, due="service", scaling=state)


def test_only_what_the_owner_sees_is_said(own: Api) -> None:
    with worked(own, "true") as (queue, service):
        own.send(queue)
        found = eventually_for(own, service, "1 ready, 0 in flight")
        assert found["desired"] == 1
        assert json.dumps(found).count(service) == 1
