"""AWS changes mappings in its own time and refuses what it does not like; in the end there is what is wanted."""

import json
import time
from typing import Any

import boto3
import pytest

from functions.reconcile.app import handler as reconcile
from tenancy import arrangements, mappings, table
from tests.integration.conftest import Answer, Api, Calls, Context, aws_fault
from tests.integration.lambdas import deploy, deploy_ours
from tests.integration.lambdas import mappings as fed
from tests.integration.leftovers import booked, secrets, stored
from tests.integration.slow_lambda import SlowLambda

HOOK = "http://127.0.0.1:9/hook"
FUNCTION = {"type": "function", "function": "resize"}
OTHER = {"type": "function", "function": "mail"}
WEBHOOK = {"type": "webhook", "url": HOOK}


@pytest.fixture(autouse=True)
def ours(aws: None) -> None:
    deploy_ours()


@pytest.fixture
def roles(api: Api) -> dict[str, str]:
    """The roles of the company's functions."""
    return {name: deploy(name, api.company) for name in ("resize", "mail")}


@pytest.fixture
def slow(roles: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> SlowLambda:
    """Lambda from here on."""
    made = SlowLambda()
    monkeypatch.setattr(mappings, "functions", made)
    return made


@pytest.fixture
def after(monkeypatch: pytest.MonkeyPatch) -> "Clock":
    return Clock(monkeypatch)


class Clock:
    """Lets time pass for everybody."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, seconds: float) -> None:
        now = time.time() + seconds
        self._monkeypatch.setattr(time, "time", lambda: now)


def ask(api: Api, queue: str, method: str, body: Any = None) -> Answer:
    return api(method, f"/v1/queue/{queue}/consumer", body)


def record(queue: str) -> Any:
    key = "QUEUE#" + queue, "QUEUE"
    return table.read([key]).get(key)


def admitted(queue: str) -> list[str]:
    """The roles that the queue's own policy admits besides ours and its owner's."""
    asked = boto3.client("sqs").get_queue_attributes(QueueUrl=record(queue)["url"], AttributeNames=["Policy"])
    statement = json.loads(asked["Attributes"]["Policy"])["Statement"][0]
    names: list[str] = statement["Condition"]["ArnNotLike"]["aws:PrincipalArn"]
    return names[2:]


def outcomes() -> list[str]:
    return [action["outcome"] for action in reconcile({}, Context(240))]


def functions() -> list[str]:
    """Which functions are fed, each with the state of its mapping and what it gets at once."""
    return [f"{made['FunctionArn'].rpartition(':')[2]} {made['State']} {made['BatchSize']}" for made in fed()]


def test_a_change_while_the_mapping_is_being_made_is_made_good_by_the_reconciler(
    api: Api, slow: SlowLambda, after: Clock
) -> None:
    queue = api.queue()
    api.consumer(queue, **FUNCTION)
    assert "due" not in record(queue)
    changed = ask(api, queue, "PATCH", {"batch_size": 3, "paused": True})
    assert (changed.status, changed.json["batch_size"], changed.json["paused"]) == (200, 3, True)
    assert functions() == ["resize Enabled 10"]
    assert outcomes() == [], "the request may still be at it"
    after(31)
    planned = reconcile({"dry_run": True}, Context(240))
    assert [(action["resource"], action["left"], action["outcome"]) for action in planned] == [
        (f"consumer of queue {queue}", "half changed", "would be finished")
    ]
    assert outcomes() == ["not finished"]
    slow.rest()
    after(121)
    assert outcomes() == ["finished"]
    assert functions() == ["resize Disabled 3"]
    assert outcomes() == []
    assert ask(api, queue, "GET").json == changed.json


def test_further_changes_meanwhile_are_noted_and_the_last_one_counts(api: Api, slow: SlowLambda, after: Clock) -> None:
    queue = api.queue()
    api.consumer(queue, **WEBHOOK, max_concurrency=2)
    for number in (3, 4, 5):
        assert ask(api, queue, "PATCH", {"max_concurrency": number, "batch_size": number}).status == 200
        assert booked(api.company) == (number, number)
    slow.rest()
    after(31)
    assert outcomes() == ["finished"]
    (mapping,) = fed()
    assert (mapping["BatchSize"], mapping["ScalingConfig"]) == (5, {"MaximumConcurrency": 5})


def test_nobody_gets_more_concurrency_by_lowering_or_removing_what_lambda_still_has(
    api: Api, slow: SlowLambda, roles: dict[str, str], after: Clock
) -> None:
    lowered, removed = api.queue("lowered"), api.queue("removed")
    for queue in lowered, removed:
        api.consumer(queue, **FUNCTION, max_concurrency=20)
    assert ask(api, lowered, "PATCH", {"max_concurrency": 2}).status == 200
    assert ask(api, removed, "DELETE").status == 204
    assert booked(api.company) == (40, 40)
    answer = ask(api, api.queue("third"), "POST", FUNCTION | {"max_concurrency": 11})
    assert (answer.status, answer.code) == (429, "rate_limited")
    slow.rest()
    after(31)
    outcomes()
    slow.rest()
    after(200)
    outcomes()
    assert booked(api.company) == (2, 2)


def test_a_mapping_that_is_removed_while_it_is_being_made_goes_before_its_role(
    api: Api, slow: SlowLambda, roles: dict[str, str], after: Clock
) -> None:
    queue = api.queue()
    api.consumer(queue, **FUNCTION)
    assert ask(api, queue, "DELETE").status == 204
    assert ask(api, queue, "GET").status == 404
    assert booked(api.company) == (10, 10), "Lambda may do so much until the mapping is gone"
    assert (functions(), admitted(queue)) == (["resize Enabled 10"], [roles["resize"]])
    after(31)
    assert outcomes() == ["not finished"], "it is still being made"
    slow.rest()
    after(121)
    assert outcomes() == ["not finished"], "now it is being deleted"
    assert admitted(queue) == [roles["resize"]]
    slow.rest()
    after(121)
    assert outcomes() == ["finished"]
    assert (functions(), admitted(queue)) == ([], [])
    assert not {"mapping", "due", "due_at", "consumer"} & record(queue).keys()


@pytest.mark.parametrize("next_one", [FUNCTION, OTHER, WEBHOOK])
def test_another_consumer_waits_until_the_first_one_is_undone(
    api: Api, slow: SlowLambda, roles: dict[str, str], after: Clock, calls: Calls, next_one: Any
) -> None:
    queue = api.queue()
    api.consumer(queue, **FUNCTION)
    slow.rest()
    assert ask(api, queue, "DELETE").status == 204
    made = api.consumer(queue, **next_one, batch_size=4)
    assert admitted(queue) == [roles["resize"]]
    slow.rest()
    after(31)
    calls.made.clear()
    assert outcomes() == ["finished"]
    name = next_one.get("function", "naive-test-webhook_worker")
    assert functions() == [f"{name} Enabled 4"]
    assert admitted(queue) == ([roles[name]] if name in roles else [])
    asked = [call for call in calls.names() if call in ("SetQueueAttributes", "CreateEventSourceMapping")]
    assert asked[-2:] == ["SetQueueAttributes", "CreateEventSourceMapping"]
    assert secrets() == ([queue] if next_one is WEBHOOK else [])
    assert ask(api, queue, "GET").json == {name: value for name, value in made.items() if name != "secret"}
    assert outcomes() == []


def test_a_queue_that_is_destroyed_while_its_mapping_is_being_made_leaves_nothing(
    api: Api, slow: SlowLambda, after: Clock
) -> None:
    before = stored()
    queue = api.queue()
    api.consumer(queue, **FUNCTION)
    assert api("DELETE", f"/v1/queue/{queue}").status == 204
    assert booked(api.company) == (10, 10)
    assert len(fed()) == 1
    after(31)
    assert outcomes() == ["not finished"]
    slow.rest()
    assert outcomes() == ["destroyed"]
    slow.rest()
    assert (fed(), stored()) == ([], before)
    assert boto3.client("sqs").list_queues().get("QueueUrls", []) == []


def test_a_queue_waits_with_its_end_for_whoever_may_make_a_mapping_of_it(
    api: Api, roles: dict[str, str], calls: Calls, after: Clock
) -> None:
    queue = api.queue()
    answers: list[int] = []
    calls.fail("CreateEventSourceMapping", lambda: answers.append(api("DELETE", f"/v1/queue/{queue}").status))
    ask(api, queue, "POST", FUNCTION)
    assert answers == [204]
    assert len(fed()) == 1, "it was made after the queue was destroyed"
    assert booked(api.company) == (10, 10)
    assert api("GET", f"/v1/queue/{queue}").status == 404
    after(31)
    assert outcomes() == ["destroyed"]
    assert (fed(), record(queue)) == ([], None)


REFUSED = aws_fault("InvalidParameterValueException")


def test_a_function_that_lambda_refuses_is_not_the_consumer_and_the_caller_is_told_what_to_do(
    api: Api, roles: dict[str, str], calls: Calls, after: Clock
) -> None:
    queue = api.queue()
    calls.fail("CreateEventSourceMapping", REFUSED, REFUSED)
    for _ in range(2):
        answer = ask(api, queue, "POST", FUNCTION)
        assert (answer.status, answer.code) == (409, "conflict")
        assert answer.json["error"]["details"] == {"reason": "function_refused"}
        assert "sqs:ReceiveMessage" in answer.json["error"]["hint"]
        assert "secret" not in answer.text
        assert ask(api, queue, "GET").status == 404
        assert (fed(), booked(api.company)) == ([], (0, 0))
        # A policy takes a moment to work: it stays for the next try.
        assert admitted(queue) == [roles["resize"]]
    api.consumer(queue, **FUNCTION)
    assert functions() == ["resize Enabled 10"]
    assert outcomes() == []


def test_what_was_refused_is_undone_by_the_reconciler(
    api: Api, roles: dict[str, str], calls: Calls, after: Clock
) -> None:
    queue = api.queue()
    before = stored()
    calls.fail("CreateEventSourceMapping", REFUSED)
    assert ask(api, queue, "POST", FUNCTION).status == 409
    after(1)
    assert outcomes() == ["finished"]
    assert (admitted(queue), stored()) == ([], before)


def test_a_function_that_goes_while_it_is_bound_is_refused_as_a_missing_one(
    api: Api, roles: dict[str, str], calls: Calls
) -> None:
    queue = api.queue()
    missing = ask(api, queue, "POST", {"type": "function", "function": "missing"})
    calls.fail("CreateEventSourceMapping", aws_fault("ResourceNotFoundException", 404))
    gone = ask(api, queue, "POST", FUNCTION)
    assert (gone.status, gone.json["error"]["message"]) == (400, missing.json["error"]["message"])
    assert booked(api.company) == (0, 0)


@pytest.mark.parametrize(
    ("fault", "status"), [(aws_fault("TooManyRequestsException", 429), 503), (aws_fault("ServiceException", 500), 503),
                          (aws_fault("AccessDeniedException", 403), 500)],
)  # fmt: skip
@pytest.mark.parametrize(
    "operation", ["ListTags", "GetFunctionConfiguration", "SetQueueAttributes", "CreateEventSourceMapping"]
)
def test_aws_that_cannot_take_it_now_is_503_and_there_is_no_consumer(
    api: Api, roles: dict[str, str], calls: Calls, after: Clock, operation: str, fault: Exception, status: int
) -> None:
    queue = api.queue()
    before = stored()
    calls.fail(operation, fault)
    answer = ask(api, queue, "POST", FUNCTION)
    assert answer.status == status
    assert "secret" not in answer.text
    assert ask(api, queue, "GET").status == 404
    after(1)
    outcomes()
    assert booked(api.company) == (0, 0)
    assert (stored(), fed(), admitted(queue)) == (before, [], [])
    calls.fail(operation)
    api.consumer(queue, **FUNCTION)


def test_a_mapping_that_was_made_though_aws_did_not_say_so_is_found(
    api: Api, slow: SlowLambda, after: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = api.queue()
    real = slow.create_event_source_mapping

    def hangs(**asked: Any) -> Any:
        real(**asked)
        raise aws_fault("ServiceException", 500)

    monkeypatch.setattr(slow, "create_event_source_mapping", hangs)
    assert ask(api, queue, "POST", WEBHOOK).status == 503
    monkeypatch.setattr(slow, "create_event_source_mapping", real)
    assert len(fed()) == 1
    api.consumer(queue, **WEBHOOK, batch_size=6)
    slow.rest()
    after(31)
    assert outcomes() == ["finished"]
    assert functions() == ["naive-test-webhook_worker Enabled 6"]


@pytest.mark.parametrize("operation", ["UpdateEventSourceMapping", "DeleteEventSourceMapping"])
@pytest.mark.parametrize("fault", [aws_fault("TooManyRequestsException", 429), aws_fault("AccessDeniedException", 403)])
def test_a_change_that_aws_does_not_take_now_is_noted_and_made_good(
    api: Api, roles: dict[str, str], calls: Calls, after: Clock, operation: str, fault: Exception
) -> None:
    queue = api.queue()
    api.consumer(queue, **FUNCTION)
    calls.fail(operation, fault)
    if operation.startswith("Update"):
        assert ask(api, queue, "PATCH", {"batch_size": 2}).json["batch_size"] == 2
    else:
        assert ask(api, queue, "DELETE").status == 204
    after(31)
    assert outcomes() == ["finished"]
    assert functions() == (["resize Enabled 2"] if operation.startswith("Update") else [])
    assert admitted(queue) == ([roles["resize"]] if operation.startswith("Update") else [])


def test_a_mapping_that_somebody_has_deleted_is_made_again(api: Api, slow: SlowLambda, after: Clock) -> None:
    queue = api.queue()
    api.consumer(queue, **FUNCTION)
    slow.rest()
    (mapping,) = fed()
    boto3.client("lambda").delete_event_source_mapping(UUID=mapping["UUID"])
    assert ask(api, queue, "PATCH", {"batch_size": 2}).status == 200
    after(31)
    assert outcomes() == ["finished"]
    assert functions() == ["resize Enabled 2"]
    slow.rest()
    (mapping,) = fed()
    boto3.client("lambda").delete_event_source_mapping(UUID=mapping["UUID"])
    assert ask(api, queue, "DELETE").status == 204
    assert (admitted(queue), outcomes()) == ([], [])


def test_one_that_is_as_it_is_wanted_is_left_alone(api: Api, slow: SlowLambda, calls: Calls, after: Clock) -> None:
    queue = api.queue()
    calls.fail("UpdateItem", aws_fault("ProvisionedThroughputExceededException"))
    assert ask(api, queue, "POST", FUNCTION).status == 503
    assert ask(api, queue, "POST", FUNCTION).status == 201
    slow.rest()
    after(31)
    calls.made.clear()
    assert outcomes() == ["finished"]
    assert "UpdateEventSourceMapping" not in calls.names()
    assert functions() == ["resize Enabled 10"]


def test_a_consumer_that_stays_refused_fails_run_after_run_and_says_why(
    api: Api, slow: SlowLambda, after: Clock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = api.queue()
    api.consumer(queue, **OTHER)
    assert ask(api, queue, "DELETE").status == 204
    api.consumer(queue, **FUNCTION)

    def refuses(**_: Any) -> Any:
        raise REFUSED

    monkeypatch.setattr(slow, "create_event_source_mapping", refuses)
    slow.rest()
    after(31)
    assert outcomes() == ["not finished"]
    slow.rest()
    for _ in range(2):
        after(121)
        caplog.clear()
        assert outcomes() == ["failed"]
        (line,) = [line for line in caplog.records if line.message == "unhandled"]
        assert "InvalidParameterValueException" in line.__dict__["fault"]


def test_two_reconcilers_do_not_disturb_each_other(api: Api, roles: dict[str, str], calls: Calls, after: Clock) -> None:
    queue = api.queue()
    api.consumer(queue, **FUNCTION)
    calls.fail("UpdateEventSourceMapping", aws_fault("ResourceInUseException"))
    ask(api, queue, "PATCH", {"batch_size": 2})
    after(31)
    seen: list[list[str]] = []
    (due,) = arrangements.due(10)
    calls.fail("ListEventSourceMappings", lambda: seen.append(outcomes()))
    assert arrangements.settle(due)
    assert seen == [[]]
    assert functions() == ["resize Enabled 2"]


def test_a_change_while_the_reconciler_is_at_it_is_not_lost(
    api: Api, roles: dict[str, str], calls: Calls, after: Clock
) -> None:
    queue = api.queue()
    api.consumer(queue, **FUNCTION)
    calls.fail("UpdateEventSourceMapping", aws_fault("ResourceInUseException"), None)
    ask(api, queue, "PATCH", {"batch_size": 2})
    after(31)
    calls.fail("UpdateEventSourceMapping", lambda: ask(api, queue, "PATCH", {"batch_size": 3}))
    assert outcomes() == ["taken over by somebody else"]
    after(121)
    assert outcomes() == ["finished"]
    assert functions() == ["resize Enabled 3"]
