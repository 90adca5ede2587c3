"""A service that becomes a queue's consumer later: its tasks are told of the queue, whoever dies on the way."""

import time
from typing import Any

import pytest

from functions.reconcile.app import handler as reconcile
from tenancy import employment, fleet, services, table
from tenancy.errors import Conflict
from tenancy.names import new_id
from tenancy.table import ConditionFailed
from tests.integration.conftest import Api, Calls, Context, aws_fault
from tests.integration.leftovers import operator, task_definitions

pytestmark = pytest.mark.usefixtures("cluster")


def employ(api: Api, service: str, queue: str) -> None:
    table.transact([employment.begin(services.find(api.user, service), queue)])


def dismiss(service: str, queue: str) -> None:
    table.transact(employment.end(service, queue))


def told(service: str) -> Any:
    """The queue of which a task that starts now is told."""
    ecs = operator("ecs")
    (name,) = (name for name in task_families() if name.endswith(service.replace("-", "")))
    (found,) = ecs.describe_services(cluster="workers", services=[name])["services"]
    made = ecs.describe_task_definition(taskDefinition=found["taskDefinition"])["taskDefinition"]
    (container,) = made["containerDefinitions"]
    return {variable["name"]: variable["value"] for variable in container["environment"]}.get("NAIVE_QUEUE_ID")


def task_families() -> set[str]:
    return {name.partition(":")[0] for name in task_definitions()}


def later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time() + 31
    monkeypatch.setattr(time, "time", lambda: now)


def test_its_tasks_are_told_of_its_queue(api: Api) -> None:
    service, queue = api.service(), api.queue()
    assert told(service) is None
    employ(api, service, queue)
    fleet.deploy(services.find(api.user, service))
    assert told(service) == queue
    assert api("GET", f"/v1/compute/{service}").json["queue_id"] == queue
    assert services.due(9) == []


def test_it_is_the_consumer_of_one_queue_at_a_time(api: Api) -> None:
    service, first, second = api.service(), new_id(), new_id()
    employ(api, service, first)
    with pytest.raises(Conflict, match="another queue"):
        employment.begin(services.find(api.user, service), second)
    employ(api, service, first)
    assert employment.end(service, second) == []
    assert api("GET", f"/v1/compute/{service}").json["queue_id"] == first
    dismiss(service, first)
    assert api("GET", f"/v1/compute/{service}").json["queue_id"] is None
    employ(api, service, second)


def test_of_two_queues_at_once_one_gets_it(api: Api) -> None:
    service = services.find(api.user, api.service())
    writes = [employment.begin(service, new_id()) for _ in range(2)]
    table.transact(writes[:1])
    with pytest.raises(ConditionFailed):
        table.transact(writes[1:])


def test_a_service_that_is_gone_is_nobodys_consumer(api: Api) -> None:
    service, queue = api.service(), new_id()
    found = services.find(api.user, service)
    assert api("DELETE", f"/v1/compute/{service}").status == 204
    with pytest.raises(ConditionFailed):
        table.transact([employment.begin(found, queue)])
    assert employment.end(service, queue) == []
    employment.told(found)
    assert services.read(service) is None


@pytest.mark.parametrize("fault", [None, "RegisterTaskDefinition", "UpdateService"])
def test_when_nobody_told_its_tasks_the_reconciler_does(
    api: Api, calls: Calls, monkeypatch: pytest.MonkeyPatch, fault: str | None
) -> None:
    service, queue = api.service(), api.queue()
    employ(api, service, queue)
    assert reconcile({}, Context()) == [], "whoever made it the consumer may still be at it"
    later(monkeypatch)
    (planned,) = reconcile({"dry_run": True}, Context())
    assert planned["resource"] == f"service {service}"
    assert (planned["left"], planned["outcome"]) == ("half changed", "would be finished")
    if fault is not None:
        calls.fail(fault, aws_fault("ServerException", 500))
        assert [action["outcome"] for action in reconcile({}, Context())] == ["failed"]
    assert [action["outcome"] for action in reconcile({}, Context())] == ["finished"]
    assert told(service) == queue
    assert reconcile({}, Context()) == []


def test_a_service_that_is_dismissed_before_its_tasks_were_told_is_not_due(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, queue = api.service(), api.queue()
    employ(api, service, queue)
    dismiss(service, queue)
    later(monkeypatch)
    assert reconcile({}, Context()) == []


def test_a_service_that_is_being_destroyed_stays_due_when_it_is_dismissed(
    api: Api, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = api.service(queue_id=api.queue())
    calls.fail("DeleteService", aws_fault("ServerException", 500))
    assert api("DELETE", f"/v1/compute/{service}").status == 204
    later(monkeypatch)
    assert [action["outcome"] for action in reconcile({}, Context())] == ["destroyed"]
    assert services.read(service) is None


def test_all_its_task_definitions_go_with_it(api: Api) -> None:
    service = api.service()
    employ(api, service, new_id())
    for _ in range(11):
        fleet.deploy(services.find(api.user, service))
    assert len(task_definitions()) == 12
    assert api("DELETE", f"/v1/compute/{service}").status == 204
    assert task_definitions() == []
