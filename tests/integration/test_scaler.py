"""A queue's service is scaled: woken by whoever sends, looked at by ticks, and at rest with nothing scheduled."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from functions.depth_alarm.app import handler as depth_alarm
from functions.reconcile.app import handler as reconcile
from tenancy import compute, engagements, scaler, services, table, telemetry, wakes
from tenancy.aws import ALARM_TOPIC, TICK_QUEUE
from tenancy.errors import QueueError
from tenancy.names import service_name
from tenancy.registry import queue_key
from tenancy.scaling import DOZE_SECONDS, LATE_SECONDS, STEADY_SECONDS, SURE_SECONDS
from tests.integration.conftest import Api, Calls, Context, aws_fault, forget_grants
from tests.integration.lambdas import deploy_ours, mappings
from tests.integration.leftovers import operator
from tests.integration.test_crashes import Died, dying, hooked, meanwhile

pytestmark = pytest.mark.usefixtures("cluster")

START = 1_800_000_000
RECONCILER_SECONDS = 300


@dataclass
class Frozen:
    """The clock of the scaler and of senders; moto has its own."""

    now: float = START
    hung: float = 0
    """Seconds for which somebody has hung."""

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return time.monotonic() + self.hung


@dataclass
class Scaled:
    """A queue with its service, and the ticks that are on their way."""

    api: Api
    calls: Calls
    clock: Frozen
    queue: str
    service: str
    ticks: list[tuple[float, str]] = field(default_factory=list)
    """When each falls due, and what it says."""
    _seen: int = 0

    @property
    def desired(self) -> int:
        name = service_name("test", self.api.user, self.service)
        (found,) = operator("ecs").describe_services(cluster="workers", services=[name])["services"]
        count: int = found["desiredCount"]
        return count

    @property
    def state(self) -> dict[str, Any]:
        item: dict[str, Any] = table.read([queue_key(self.queue)])[queue_key(self.queue)]["scaling"]
        return item

    def shown(self) -> Any:
        return self.api("GET", f"/v1/compute/{self.service}").json

    def send(self, **fields: Any) -> None:
        """Send a message by what a function knows now."""
        forget_grants()
        self.api.send(self.queue, **fields)

    def gather(self) -> list[tuple[float, str]]:
        """The ticks that were sent since the last look, and that are now on their way."""
        made, self._seen = self.calls.made[self._seen :], len(self.calls.made)
        new = [
            (self.clock.now + asked["DelaySeconds"], asked["MessageBody"])
            for name, asked in made
            if name == "SendMessage" and asked["QueueUrl"] == TICK_QUEUE
        ]
        self.ticks += new
        return new

    def pass_by(self, seconds: float) -> None:
        """Let time pass in which every tick arrives when it is due."""
        end = self.clock.now + seconds
        self.gather()
        while self.ticks and min(self.ticks)[0] <= end:
            due, body = min(self.ticks)
            self.ticks.remove((due, body))
            self.clock.now = max(self.clock.now, due)
            arrive(body)
            self.gather()
        self.clock.now = end

    def lose_ticks(self) -> None:
        self.gather()
        self.ticks.clear()

    def take_all(self) -> list[str]:
        return [message["receipt_handle"] for message in self.api.receive(self.queue, max=10, visibility=600)]

    def done(self, *handles: str) -> None:
        for handle in handles:
            path = f"/v1/queue/{self.queue}/messages"
            assert self.api("DELETE", path, receipt_handle=handle).status == 204


def arrive(body: str) -> None:
    depth_alarm({"Records": [{"eventSource": "aws:sqs", "body": body}]}, Context(20))


def alarm(name: str) -> None:
    message = json.dumps({"AlarmName": name, "NewStateValue": "ALARM", "Trigger": {"Period": 60}})
    depth_alarm({"Records": [{"EventSource": "aws:sns", "Sns": {"Message": message}}]}, Context(20))


def alarms() -> list[Any]:
    return list(operator("cloudwatch").describe_alarms()["MetricAlarms"])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Frozen]:
    frozen = Frozen()
    for module in (compute, scaler, wakes):
        monkeypatch.setattr(module, "time", frozen)
    wakes._sent.clear()
    yield frozen
    wakes._sent.clear()


@pytest.fixture
def scaled(api: Api, calls: Calls, clock: Frozen) -> Scaled:
    """A queue whose service has long been asleep."""
    return asleep(api, calls, clock, api.queue("jobs", dlq=True))


def asleep(api: Api, calls: Calls, clock: Frozen, queue: str) -> Scaled:
    service = api.service("worker", queue_id=queue)
    one = Scaled(api, calls, clock, queue, service)
    one.pass_by(2 * DOZE_SECONDS)
    assert (one.desired, one.state["mode"], one.ticks) == (0, "asleep", [])
    return one


def scheduled(one: Scaled) -> dict[str, int]:
    """What goes on in the whole account, or will, without anybody asking for it; alarms apart, which wait."""
    ecs, tasks = operator("ecs"), 0
    for arn in ecs.list_services(cluster="workers")["serviceArns"]:
        (service,) = ecs.describe_services(cluster="workers", services=[arn])["services"]
        tasks += service["desiredCount"] + service["runningCount"] + service["pendingCount"]
    one.gather()
    going_on = {
        "tasks": tasks + len(ecs.list_tasks(cluster="workers")["taskArns"]),
        "ticks": len(one.ticks),
        "mappings": len([mapping for mapping in mappings() if mapping["State"] != "Disabled"]),
        "rules": len(operator("events").list_rules()["Rules"]),
        "schedules": len(operator("scheduler").list_schedules()["Schedules"]),
    }
    return {what: count for what, count in going_on.items() if count}


def named(one: Scaled) -> str:
    return f"nv-test-{one.api.user.replace('-', '')[:24]}-{one.queue.replace('-', '')}"


def test_a_send_wakes_a_sleeping_service(scaled: Scaled) -> None:
    scaled.send()
    assert scaled.gather() == [(START + 2 * DOZE_SECONDS, json.dumps({"queue": scaled.queue, "event": "wake"}))]
    scaled.pass_by(0)
    assert scaled.desired == 1
    shown = scaled.shown()
    assert (shown["desired"], shown["last_scale_reason"]) == (1, "1 ready, 0 in flight")
    assert shown["last_scaled_at"] == "2027-01-15T08:03:00.000Z"
    assert [due - scaled.clock.now for due, _ in scaled.ticks] == [3]


def test_a_scale_action_is_an_audit_line(scaled: Scaled, capsys: pytest.CaptureFixture[str]) -> None:
    for handler in telemetry.logger.handlers:
        handler.stream = sys.stdout  # type: ignore[attr-defined]  # which capsys exchanged
    scaled.send()
    scaled.pass_by(0)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (line,) = (line for line in lines if line.get("audit") and line.get("resource") == scaled.service)
    facts = {"company": scaled.api.company, "user": scaled.api.user, "desired": 1, "reason": "1 ready, 0 in flight"}
    assert line.items() >= facts.items()


def test_whoever_sends_much_wakes_once_a_second(scaled: Scaled) -> None:
    for _ in range(5):
        scaled.api.send(scaled.queue)  # as long as it is not known that the service is awake
    assert len(scaled.gather()) == 1
    scaled.clock.now += 1
    scaled.api.send(scaled.queue)
    assert len(scaled.gather()) == 1


def test_nobody_wakes_a_service_that_is_awake(scaled: Scaled) -> None:
    scaled.send()
    scaled.pass_by(0)
    scaled.clock.now += 2
    scaled.send()
    assert scaled.gather() == []


def test_a_wake_that_comes_twice_makes_no_second_chain(scaled: Scaled) -> None:
    scaled.send()
    ((_, body),) = scaled.gather()
    scaled.pass_by(0)
    before = scaled.state
    arrive(body)
    assert (scaled.state, scaled.gather(), len(scaled.ticks)) == (before, [], 1)


def test_a_batch_a_redrive_and_a_retry_wake_too(scaled: Scaled, subtests: pytest.Subtests) -> None:
    api, path = scaled.api, f"/v1/queue/{scaled.queue}"
    dead = f"{named(scaled)}-dlq"
    operator("sqs").send_message(QueueUrl=operator("sqs").get_queue_url(QueueName=dead)["QueueUrl"], MessageBody="x")
    operator("sqs").send_message(
        QueueUrl=operator("sqs").get_queue_url(QueueName=named(scaled))["QueueUrl"], MessageBody="y"
    )
    (first,) = scaled.take_all()
    retry = {"retry": [{"receipt_handle": first, "delay_seconds": 40}]}
    acts: dict[str, tuple[Callable[[], Any], int]] = {
        "settle": (lambda: api("POST", f"{path}/messages/settle", retry), 40),
        "retry": (lambda: api("PATCH", f"{path}/messages", {"receipt_handle": first, "visibility": 0}), 0),
        "batch": (
            lambda: api(
                "POST", f"{path}/messages/batch", {"messages": [{"body": "a", "delay_seconds": 9}, {"body": "b"}]}
            ),
            0,
        ),
        "delayed": (lambda: api("POST", f"{path}/messages", {"body": "a", "delay_seconds": 600}), 600),
        "redrive": (lambda: api("POST", f"{path}/redrive", {}), 0),
    }
    for name, (act, delay) in acts.items():
        with subtests.test(name):
            scaled.clock.now += 2
            forget_grants()
            assert act().status < 300
            ((due, body),) = scaled.gather()
            assert (due - scaled.clock.now, json.loads(body)["event"]) == (delay, "wake")


def test_a_fifo_queue_wakes_when_its_own_delay_is_over(api: Api, calls: Calls, clock: Frozen) -> None:
    one = asleep(api, calls, clock, api.queue("orders", type="fifo", delay_seconds=7))
    one.send(group_id="g")
    assert [due - clock.now for due, _ in one.gather()] == [7]
    assert alarms()[0]["AlarmName"].endswith(".fifo")


def test_a_wake_that_fails_fails_no_send(scaled: Scaled) -> None:
    scaled.calls.fail("SendMessage", None, aws_fault("InternalError", 500))
    scaled.send()
    assert len([name for name, _ in scaled.calls.made if name == "SendMessage"]) >= 2
    scaled.lose_ticks()
    scaled.clock.now += 1
    scaled.send()
    assert len(scaled.gather()) == 1, "the next one tries again"


def test_it_goes_to_zero_and_then_nothing_is_scheduled(scaled: Scaled) -> None:
    scaled.send()
    scaled.pass_by(10)
    (handle,) = scaled.take_all()
    scaled.pass_by(400)
    assert scaled.desired == 1, "a message is in flight"
    scaled.done(handle)
    scaled.pass_by(60 + STEADY_SECONDS)
    assert (scaled.desired, scaled.shown()["last_scale_reason"]) == (0, "idle for 60 s")
    assert scheduled(scaled) == {"ticks": 1}
    scaled.pass_by(DOZE_SECONDS + STEADY_SECONDS)
    assert scheduled(scaled) == {}
    before = len(scaled.calls.made)
    scaled.pass_by(24 * 3600)
    assert (scaled.calls.made[before:], scaled.state["mode"]) == ([], "asleep")


def test_a_paused_function_or_webhook_has_nothing_scheduled(api: Api, calls: Calls) -> None:
    deploy_ours()
    queue = api.queue()
    api.consumer(queue, type="webhook", url="http://127.0.0.1:9/hook")
    one = Scaled(api, calls, Frozen(), queue, "none")
    assert scheduled(one) == {"mappings": 1}
    assert api("PATCH", f"/v1/queue/{queue}/consumer", {"paused": True}).status == 200
    assert scheduled(one) == {}


def test_it_has_as_many_workers_as_the_messages_need(scaled: Scaled) -> None:
    forget_grants()
    entries = [{"body": str(index)} for index in range(100)]
    assert scaled.api("POST", f"/v1/queue/{scaled.queue}/messages/batch", {"messages": entries}).status == 200
    scaled.pass_by(5)
    assert (scaled.desired, scaled.shown()["last_scale_reason"]) == (10, "100 ready, 0 in flight")
    consumer = f"/v1/queue/{scaled.queue}/consumer"
    assert scaled.api("PATCH", consumer, {"max": 4}).status == 200
    assert scaled.desired == 4
    assert scaled.shown()["last_scale_reason"] == "100 ready, 0 in flight, min 0, max 4"


PROTECTED = {"protectedTasks": [{"taskArn": "arn", "protectionEnabled": True}]}
UNPROTECTED = {"protectedTasks": [{"taskArn": "arn", "protectionEnabled": False}]}


@pytest.mark.parametrize("protection, count", [(PROTECTED, 2), (UNPROTECTED, 10)], ids=["protected", "not"])
def test_while_messages_are_in_flight_only_workers_that_protect_themselves_become_fewer(
    scaled: Scaled, protection: Any, count: int
) -> None:
    forget_grants()
    entries = [{"body": str(index)} for index in range(100)]
    assert scaled.api("POST", f"/v1/queue/{scaled.queue}/messages/batch", {"messages": entries}).status == 200
    scaled.pass_by(5)
    handles = [handle for _ in range(10) for handle in scaled.take_all()]
    assert (scaled.desired, len(handles)) == (10, 100)
    scaled.calls.fail("ListTasks", *[{"taskArns": ["arn"]}] * 99)
    scaled.calls.fail("GetTaskProtection", *[protection] * 99)
    scaled.done(*handles[2:])
    scaled.pass_by(60 + 2 * STEADY_SECONDS)
    assert scaled.desired == count
    asked = len(scaled.calls.arguments("GetTaskProtection"))
    scaled.pass_by(10 * STEADY_SECONDS)
    assert (len(scaled.calls.arguments("GetTaskProtection")) == asked) == (protection == PROTECTED), "known once seen"
    scaled.done(*handles[:2])
    scaled.pass_by(60 + 2 * STEADY_SECONDS)
    assert scaled.desired == 0


def test_a_stop_pauses_and_a_start_goes_on(scaled: Scaled) -> None:
    scaled.send()
    scaled.pass_by(0)
    path = f"/v1/compute/{scaled.service}"
    stopped = scaled.api("POST", f"{path}/stop").json
    assert (stopped["desired"], stopped["last_scale_reason"]) == (0, "paused")
    scaled.pass_by(2 * DOZE_SECONDS)
    assert (scaled.desired, scaled.ticks) == (0, [])
    scaled.send()
    assert scaled.gather() == [], "nobody wakes what its owner has stopped"
    started = scaled.api("POST", f"{path}/start").json
    assert (started["desired"], scaled.desired) == (1, 1)


def test_a_worker_gets_nothing_new_while_its_consumer_is_paused(scaled: Scaled) -> None:
    (parameter,) = operator("ssm").describe_parameters()["Parameters"]
    key = operator("ssm").get_parameter(Name=parameter["Name"], WithDecryption=True)["Parameter"]["Value"]
    worker = Api(scaled.api.company, scaled.api.user, key)
    scaled.send()
    scaled.send()
    assert len(worker.receive(scaled.queue)) == 1
    assert scaled.api("PATCH", f"/v1/queue/{scaled.queue}/consumer", {"paused": True}).status == 200
    forget_grants()
    assert worker.receive(scaled.queue) == [], "it would never be done, and so never end"
    assert len(scaled.api.receive(scaled.queue)) == 1, "its owner may"
    assert scaled.api("PATCH", f"/v1/queue/{scaled.queue}/consumer", {"paused": False}).status == 200
    scaled.send()
    assert len(worker.receive(scaled.queue)) == 1


def test_what_is_as_it_is_wanted_is_written_to_nobody(scaled: Scaled) -> None:
    before = len(scaled.calls.arguments("TransactWriteItems"))
    assert scaled.api("PATCH", f"/v1/queue/{scaled.queue}/consumer", {"paused": False, "max": 10}).status == 200
    assert scaled.api("POST", f"/v1/compute/{scaled.service}/start").status == 200
    assert len(scaled.calls.arguments("TransactWriteItems")) == before


def test_the_alarm_wakes_where_no_sender_did(scaled: Scaled) -> None:
    (made,) = alarms()
    assert (made["AlarmName"], made["AlarmActions"]) == (named(scaled), [ALARM_TOPIC])
    assert (made["Namespace"], made["MetricName"]) == ("AWS/SQS", "ApproximateNumberOfMessagesVisible")
    assert made["Dimensions"] == [{"Name": "QueueName", "Value": named(scaled)}]
    scaled.send()
    scaled.lose_ticks()
    alarm(made["AlarmName"])
    assert scaled.desired == 1
    assert len(scaled.gather()) == 1
    alarm(made["AlarmName"])
    assert scaled.gather() == [], "it is awake by then"


def test_the_reconciler_alone_wakes_and_puts_to_sleep(scaled: Scaled) -> None:
    def come_by() -> list[str]:
        scaled.lose_ticks()
        scaled.clock.now += RECONCILER_SECONDS
        return [action["resource"] for action in reconcile({}, Context(240))]

    assert come_by() == []
    scaled.send()
    assert come_by() == [f"service of queue {scaled.queue}"]
    assert scaled.desired == 1
    (handle,) = scaled.take_all()
    assert come_by() == [f"service of queue {scaled.queue}"]
    assert scaled.desired == 1
    scaled.done(handle)
    for _ in range(2):
        come_by()
    assert scaled.desired == 0
    for _ in range(2):
        come_by()
    assert (scaled.state["mode"], come_by()) == ("asleep", [])


def test_the_reconciler_leaves_alone_what_is_looked_at(scaled: Scaled) -> None:
    scaled.send()
    scaled.pass_by(0)
    before = scaled.state
    assert reconcile({}, Context(240)) == []
    assert reconcile({"dry_run": True}, Context(240)) == []
    scaled.clock.now += 3 + LATE_SECONDS
    assert reconcile({"dry_run": True}, Context(240)) == []
    assert scaled.state == before


def test_a_look_that_dies_is_made_good_by_the_next(scaled: Scaled, subtests: pytest.Subtests) -> None:
    with hooked(lambda number, when: None) as made:
        scaled.send()
        ((_, body),) = scaled.gather()
        before = len(made)
        arrive(body)
    for at in range(len(made) - before):
        for when in ("before", "after"):
            with subtests.test(at=at, when=when):
                reset(scaled)
                scaled.send()
                ((_, body),) = scaled.gather()
                with dying(at, when), suppress(Died, QueueError):
                    arrive(body)
                scaled.gather()
                scaled.ticks.append((scaled.clock.now + 30, body))  # SQS gives it again.
                scaled.pass_by(40)
                assert scaled.desired == 1
                assert len(scaled.ticks) == 1, "more than one chain goes on"


def test_two_looks_at_once_end_as_one(scaled: Scaled, subtests: pytest.Subtests) -> None:
    for at in range(4):
        with subtests.test(at=at):
            reset(scaled)
            scaled.send()
            scaled.lose_ticks()
            with meanwhile(at, lambda: scaler.look(scaled.queue, "wake")):
                scaler.look(scaled.queue, "wake")
            scaled.pass_by(10)
            assert (scaled.desired, len(scaled.ticks)) == (1, 1)


def reset(scaled: Scaled) -> None:
    """Empty the queue and let its service sleep."""
    while handles := scaled.take_all():
        scaled.done(*handles)
    scaled.pass_by(60 + 2 * DOZE_SECONDS)
    assert (scaled.desired, scaled.state["mode"], scaled.ticks) == (0, "asleep", [])


def test_a_look_that_took_too_long_has_no_effect_any_more(scaled: Scaled) -> None:
    scaled.send()
    ((_, body),) = scaled.gather()

    def hang() -> None:
        scaled.clock.hung += 11

    scaled.calls.fail("GetQueueAttributes", hang)
    before = scaled.state
    with pytest.raises(QueueError, match="too long"):
        arrive(body)
    assert (scaled.state, scaled.desired, scaled.gather()) == (before, 0, [])


def test_without_its_consumer_a_service_goes_to_zero_and_stays_there(scaled: Scaled) -> None:
    scaled.send()
    scaled.pass_by(0)
    assert scaled.api("DELETE", f"/v1/queue/{scaled.queue}/consumer").status == 204
    assert (scaled.desired, alarms()) == (0, [])
    shown = scaled.shown()
    assert (shown["queue_id"], shown["last_scale_reason"]) == (None, "no queue's consumer")
    # One that looked before is late with what it found.
    operator("ecs").update_service(
        cluster="workers", service=service_name("test", scaled.api.user, scaled.service), desiredCount=5
    )
    scaled.pass_by(SURE_SECONDS)
    assert (scaled.desired, scaled.ticks) == (0, [])


def test_what_its_owner_orders_then_holds(scaled: Scaled) -> None:
    scaled.send()
    scaled.pass_by(0)
    assert scaled.api("DELETE", f"/v1/queue/{scaled.queue}/consumer").status == 204
    assert scaled.api("POST", f"/v1/compute/{scaled.service}/scale", {"count": 3}).status == 200
    scaled.pass_by(SURE_SECONDS)
    assert scaled.desired == 3


def test_without_its_queue_a_service_goes_to_zero(scaled: Scaled) -> None:
    scaled.send()
    scaled.pass_by(0)
    assert scaled.api("DELETE", f"/v1/queue/{scaled.queue}").status == 204
    assert (scaled.desired, alarms(), scaled.shown()["queue_id"]) == (0, [], None)
    scaled.pass_by(1000)
    assert scaled.ticks == []


def test_a_service_that_becomes_a_consumer_is_told_of_the_queue_and_looked_at(
    api: Api, calls: Calls, clock: Frozen
) -> None:
    queue, service = api.queue(), api.service()
    api.send(queue)
    api.consumer(queue, type="service", service_id=service, max=3)
    one = Scaled(api, calls, clock, queue, service)
    assert (one.desired, one.state["mode"]) == (1, "awake")
    assert services.due(9) == []
    found = operator("ecs").describe_services(cluster="workers", services=[service_name("test", api.user, service)])[
        "services"
    ]
    definition = operator("ecs").describe_task_definition(taskDefinition=found[0]["taskDefinition"])
    (container,) = definition["taskDefinition"]["containerDefinitions"]
    assert {"name": "NAIVE_QUEUE_ID", "value": queue} in container["environment"]


def test_a_running_service_that_gets_an_idle_queue_goes_to_zero(api: Api, calls: Calls, clock: Frozen) -> None:
    queue, service = api.queue(), api.service()
    assert api("POST", f"/v1/compute/{service}/scale", {"count": 3}).status == 200
    api.consumer(queue, type="service", service_id=service, max=1)
    one = Scaled(api, calls, clock, queue, service)
    assert (one.desired, one.shown()["last_scale_reason"]) == (0, "a queue's consumer")


def test_a_stop_stops_whatever_count_there_is(scaled: Scaled) -> None:
    name = service_name("test", scaled.api.user, scaled.service)
    operator("ecs").update_service(cluster="workers", service=name, desiredCount=5)
    assert scaled.api("POST", f"/v1/compute/{scaled.service}/stop").json["desired"] == 0


def test_what_is_stored_of_looks_goes_with_the_consumer(scaled: Scaled) -> None:
    assert scaled.api("DELETE", f"/v1/queue/{scaled.queue}/consumer").status == 204
    item = table.read([queue_key(scaled.queue)])[queue_key(scaled.queue)]
    assert {"scaling", "consumer", "mapping", "due"}.isdisjoint(item)
    assert engagements.is_busy(item) is False
