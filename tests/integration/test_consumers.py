"""A queue gets a consumer, one at most; it is shown, changed, paused and removed, and holds what it may do at once."""

import base64
import json
import time
from typing import Any

import boto3
import pytest

from tenancy import employment, scaler, table
from tenancy.names import new_id
from tests.integration.conftest import Answer, Api, Calls, aws_fault, destroy_user
from tests.integration.lambdas import WEBHOOK_WORKER, deploy, deploy_ours, mappings
from tests.integration.leftovers import booked, secrets, stored

HOOK = "http://127.0.0.1:9/hook"


@pytest.fixture(autouse=True)
def ours(aws: None) -> None:
    deploy_ours()


@pytest.fixture
def role(api: Api) -> str:
    """The role of a function that was deployed for the company."""
    return deploy("resize", api.company, timeout=25)


def ask(api: Api, queue: str, method: str, body: Any = None) -> Answer:
    return api(method, f"/v1/queue/{queue}/consumer", body)


def set_to(api: Api, queue: str, **settings: Any) -> Answer:
    return ask(api, queue, "POST", settings)


def policy(queue: str) -> list[str]:
    """The principals that the queue's own policy admits."""
    url = table.read([("QUEUE#" + queue, "QUEUE")])["QUEUE#" + queue, "QUEUE"]["url"]
    document = boto3.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])["Attributes"]["Policy"]
    admitted: list[str] = json.loads(document)["Statement"][0]["Condition"]["ArnNotLike"]["aws:PrincipalArn"]
    return admitted


def error(answer: Answer) -> Any:
    return {**answer.json["error"], "request_id": None}


def test_a_function_is_fed_by_a_mapping_once_the_queue_admits_its_role(api: Api, role: str, calls: Calls) -> None:
    queue = api.queue(visibility_timeout=60)
    plain = policy(queue)
    calls.made.clear()
    answer = set_to(api, queue, type="function", function="resize", batch_size=5, max_concurrency=7)
    assert answer.status == 201
    assert answer.json == {
        "type": "function",
        "function": "resize",
        "batch_size": 5,
        "max_concurrency": 7,
        "paused": False,
        "created_at": answer.json["created_at"],
    }
    asked = [name for name in calls.names() if name in ("SetQueueAttributes", "CreateEventSourceMapping")]
    assert asked == ["SetQueueAttributes", "CreateEventSourceMapping"]
    assert policy(queue) == [*plain, role]
    (mapping,) = mappings()
    assert mapping["FunctionArn"].endswith(":function:resize")
    assert mapping["EventSourceArn"].endswith(queue.replace("-", ""))
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert (mapping["BatchSize"], mapping["ScalingConfig"]) == (5, {"MaximumConcurrency": 7})
    assert mapping["State"] == "Enabled"
    assert ask(api, queue, "GET").json == answer.json
    assert api("GET", f"/v1/queue/{queue}").json["consumer"] == {"type": "function", "paused": False}
    (listed,) = api("GET", "/v1/queue").json["queues"]
    assert listed["consumer"] == {"type": "function", "paused": False}


@pytest.mark.parametrize(("kind", "batch_size"), [("standard", 10), ("fifo", 1)])
def test_a_fifo_queue_hands_out_one_message_at_a_time_unless_told_otherwise(
    api: Api, role: str, kind: str, batch_size: int
) -> None:
    queue = api.queue(type=kind)
    assert api.consumer(queue, type="function", function="resize")["batch_size"] == batch_size
    assert [mapping["BatchSize"] for mapping in mappings()] == [batch_size]
    other = api.queue("other", type=kind)
    assert api.consumer(other, type="webhook", url=HOOK, batch_size=3)["batch_size"] == 3


def test_in_stage_local_the_queue_admits_the_roles_sessions_too(
    api: Api, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenancy.queues.STAGE", "local")
    queue = api.queue()
    plain = policy(queue)
    assert set_to(api, queue, type="function", function="resize").status == 201
    assert policy(queue) == [*plain, role, "arn:aws:sts::123456789012:assumed-role/resize-role/*"]


def test_a_webhook_is_fed_by_our_function_and_its_secret_is_shown_once(api: Api) -> None:
    queue = api.queue()
    plain = policy(queue)
    made = api.consumer(queue, type="webhook", url=HOOK)
    secret = made.pop("secret")
    assert secret.startswith("whsec_")
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    assert made == {
        "type": "webhook",
        "url": HOOK,
        "batch_size": 10,
        "max_concurrency": 10,
        "paused": False,
        "created_at": made["created_at"],
    }
    assert ask(api, queue, "GET").json == made
    (mapping,) = mappings()
    assert mapping["FunctionArn"].endswith(f":function:{WEBHOOK_WORKER}")
    assert policy(queue) == plain, "our functions are admitted already"
    assert secret not in repr([item for item in stored() if item["sk"]["S"] != "SECRET"])


def test_a_repeat_of_the_request_is_answered_without_the_secret(api: Api, role: str) -> None:
    for name, settings in {
        "a": {"type": "webhook", "url": HOOK},
        "b": {"type": "function", "function": "resize"},
    }.items():
        queue = api.queue(name)
        first, second = (
            api("POST", f"/v1/queue/{queue}/consumer", settings, headers={"idempotency-key": name}) for _ in range(2)
        )
        assert (first.status, second.status) == (201, 201)
        assert second.json == first.json | ({"secret": None} if name == "a" else {})


def test_the_webhook_worker_finds_the_webhook_of_a_queue_and_none_once_it_is_removed(api: Api) -> None:
    from functions.webhook_worker.app import _target
    from tenancy.errors import NotFound

    queue = api.queue(type="fifo")
    secret = api.consumer(queue, type="webhook", url=HOOK)["secret"]
    (mapping,) = mappings()
    target = _target(mapping["EventSourceArn"])
    assert (target.url, target.secret, target.queue_id, target.fifo) == (HOOK, secret, queue, True)
    assert ask(api, queue, "DELETE").status == 204
    with pytest.raises(NotFound):
        _target(mapping["EventSourceArn"])


def test_a_second_consumer_is_refused_whatever_it_is(api: Api, role: str) -> None:
    queue = api.queue()
    api.consumer(queue, type="webhook", url=HOOK)
    for settings in {"type": "webhook", "url": HOOK}, {"type": "function", "function": "resize"}:
        answer = set_to(api, queue, **settings)
        assert (answer.status, answer.code) == (409, "conflict")
        assert answer.json["error"]["details"] == {"reason": "consumer_exists"}
    assert len(mappings()) == 1
    assert booked(api.company) == (10, 10)


def test_of_two_at_once_one_becomes_the_consumer(api: Api, role: str, calls: Calls) -> None:
    queue = api.queue()
    answers: list[Answer] = []
    calls.fail("TransactWriteItems", lambda: answers.append(set_to(api, queue, type="webhook", url=HOOK)))
    answers.append(set_to(api, queue, type="function", function="resize"))
    assert [answer.status for answer in answers] == [201, 409]
    assert ask(api, queue, "GET").json["type"] == "webhook"
    assert booked(api.company) == (10, 10)
    assert len(mappings()) == 1


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({}, "type is required: one of function, webhook, service"),
        ({"type": "lambda"}, "type must be one of function, webhook, service"),
        ({"type": "function"}, "function is required for a function consumer"),
        ({"type": "function", "function": 7}, "function must be the name of a function"),
        ({"type": "webhook"}, "url is required for a webhook consumer"),
        ({"type": "service"}, "service_id is required for a service consumer"),
        ({"type": "function", "function": "f", "url": HOOK}, "url is for webhook consumers, not for a function one"),
        ({"type": "webhook", "url": HOOK, "min": 1}, "min is for service consumers, not for a webhook one"),
        (
            {"type": "service", "service_id": "s", "batch_size": 1},
            "batch_size is for function and webhook consumers, not for a service one",
        ),
        ({"type": "webhook", "url": HOOK, "batch_size": 0}, "batch_size must be a whole number from 1 to 10, not 0"),
        ({"type": "webhook", "url": HOOK, "batch_size": 11}, "from 1 to 10, not 11"),
        ({"type": "webhook", "url": HOOK, "batch_size": "5"}, "from 1 to 10, not '5'"),
        ({"type": "webhook", "url": HOOK, "max_concurrency": 1}, "max_concurrency must be a whole number from 2 to"),
        ({"type": "webhook", "url": HOOK, "max_concurrency": 1001}, "from 2 to 1000, not 1001"),
        ({"type": "webhook", "url": HOOK, "paused": True}, "unknown field 'paused'"),
        ({"type": "service", "service_id": "s", "max": 0}, "max must be a whole number from 1 to 1000, not 0"),
        ({"type": "service", "service_id": "s", "min": 5, "max": 4}, "min must be at most max, 4, not 5"),
        ({"type": "service", "service_id": "s", "min": 11}, "min must be at most max, 10, not 11"),
        ({"type": "service", "service_id": "s", "idle_seconds": 59}, "idle_seconds must be a whole number from 60 to"),
        ({"type": "service", "service_id": "s", "messages_per_worker": 0}, "from 1 to 1000, not 0"),
        ({"type": "webhook", "url": "http://example.com/"}, "url must lead to public addresses by https"),
        ({"type": "webhook", "url": "ftp://example.com/"}, "url must begin with https://"),
        ({"type": "webhook", "url": "https://user@example.com/"}, "url must hold no user name"),
        ({"type": "webhook", "url": "https://169.254.169.254/latest"}, "url must lead to public addresses"),
        ({"type": "webhook", "url": "https://10.0.0.1/"}, "url must lead to public addresses"),
    ],
)  # fmt: skip
def test_bad_settings_are_refused_by_field_and_range(
    api: Api, settings: Any, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(0, 0, 0, "", ("93.184.216.34", 0))])
    queue = api.queue()
    before = stored()
    answer = set_to(api, queue, **settings)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert says in answer.json["error"]["message"]
    assert stored() == before


def test_loopback_is_refused_where_the_setting_does_not_allow_it(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("functions.create_consumer.app._ALLOW_LOOPBACK", False)
    queue = api.queue()
    for url in HOOK, "https://127.0.0.1/", "https://[::1]/":
        assert set_to(api, queue, type="webhook", url=url).status == 400


def test_every_function_that_is_not_the_companys_is_refused_alike(api: Api, stranger: Api) -> None:
    deploy("theirs", stranger.company)
    deploy("untagged")
    deploy("naive-test-send_message", api.company, path="/naive/test/platform/")
    deploy("naive-other-send_message", api.company, path="/naive/other/platform/")
    deploy("mine", api.company)
    queue = api.queue()
    names = [
        "missing",
        "theirs",
        "untagged",
        "naive-test-send_message",
        "naive-other-send_message",
        WEBHOOK_WORKER,
        "",
        "bad name!",
        "x" * 65,
        "mine:1",
        "mine:$LATEST",
        "arn:aws:lambda:us-east-1:123456789012:function:mine",
        "123456789012:function:mine",
        "../functions/mine",
        "мine",
    ]
    answers = [set_to(api, queue, type="function", function=name) for name in names]
    assert {answer.status for answer in answers} == {400}
    (refusal,) = {json.dumps(error(answer)) for answer in answers}
    assert json.loads(refusal)["details"] == {"field": "function"}
    assert mappings() == []
    assert booked(api.company) == (0, 0)
    assert set_to(api, queue, type="function", function="mine").status == 201


def test_nothing_is_looked_at_of_a_function_without_the_tag(api: Api, calls: Calls) -> None:
    deploy("untagged")
    queue = api.queue()
    calls.made.clear()
    assert set_to(api, queue, type="function", function="untagged").status == 400
    assert [name for name in calls.names() if name != "BatchGetItem"] == ["ListTags"]


def test_a_queue_must_hide_messages_for_as_long_as_the_function_may_work(api: Api, role: str) -> None:
    queue = api.queue(visibility_timeout=24)
    answer = set_to(api, queue, type="function", function="resize")
    assert (answer.status, answer.code) == (409, "conflict")
    assert answer.json["error"]["details"] == {"reason": "visibility_too_short", "visibility_timeout": 25}
    assert api("PATCH", f"/v1/queue/{queue}", {"visibility_timeout": 25}).status == 200
    assert set_to(api, queue, type="function", function="resize").status == 201
    answer = api("PATCH", f"/v1/queue/{queue}", {"visibility_timeout": 24})
    assert (answer.status, answer.code) == (409, "conflict")
    assert answer.json["error"]["details"] == {"reason": "visibility_too_short", "visibility_timeout": 25}
    assert api("PATCH", f"/v1/queue/{queue}", {"delay_seconds": 1}).status == 200
    assert ask(api, queue, "DELETE").status == 204
    assert api("PATCH", f"/v1/queue/{queue}", {"visibility_timeout": 0}).status == 200


def test_a_webhook_needs_twenty_seconds(api: Api) -> None:
    queue = api.queue(visibility_timeout=19)
    answer = set_to(api, queue, type="webhook", url=HOOK)
    assert answer.json["error"]["details"] == {"reason": "visibility_too_short", "visibility_timeout": 20}
    assert secrets() == []


def visibility(queue: str) -> tuple[int, int]:
    """What the registry and SQS say of the queue."""
    record = table.read([("QUEUE#" + queue, "QUEUE")])["QUEUE#" + queue, "QUEUE"]
    asked = boto3.client("sqs").get_queue_attributes(QueueUrl=record["url"], AttributeNames=["VisibilityTimeout"])
    return record["visibility_timeout"], int(asked["Attributes"]["VisibilityTimeout"])


def test_a_queue_that_gets_a_consumer_while_its_time_is_shortened_keeps_enough(
    api: Api, role: str, calls: Calls
) -> None:
    queue = api.queue(visibility_timeout=60)
    calls.fail("SetQueueAttributes", lambda: set_to(api, queue, type="function", function="resize"))
    answer = api("PATCH", f"/v1/queue/{queue}", {"visibility_timeout": 5, "delay_seconds": 9})
    assert answer.status == 409
    assert answer.json["error"]["details"]["reason"] == "visibility_too_short"
    assert visibility(queue) == (60, 60)
    assert api("GET", f"/v1/queue/{queue}").json["delay_seconds"] == 0


def test_a_consumer_of_a_queue_whose_time_is_shortened_meanwhile_is_refused(api: Api, role: str, calls: Calls) -> None:
    queue = api.queue(visibility_timeout=60)
    calls.fail("TransactWriteItems", lambda: api("PATCH", f"/v1/queue/{queue}", {"visibility_timeout": 5}))
    answer = set_to(api, queue, type="function", function="resize")
    assert answer.json["error"]["details"]["reason"] == "visibility_too_short"
    assert (booked(api.company), mappings()) == ((0, 0), [])


def test_a_consumer_that_goes_while_the_queues_time_is_shortened_is_in_nobodys_way(
    api: Api, role: str, calls: Calls
) -> None:
    queue = api.queue(visibility_timeout=60)

    def meanwhile() -> None:
        assert set_to(api, queue, type="function", function="resize").status == 201
        calls.fail("BatchGetItem", lambda: ask(api, queue, "DELETE"))

    calls.fail("SetQueueAttributes", meanwhile)
    assert api("PATCH", f"/v1/queue/{queue}", {"visibility_timeout": 5}).status == 200
    assert visibility(queue) == (5, 5)


def test_numbers_are_changed_and_it_is_paused_and_resumed(api: Api, role: str) -> None:
    queue = api.queue()
    made = api.consumer(queue, type="function", function="resize")
    changed = ask(api, queue, "PATCH", {"batch_size": 3, "max_concurrency": 4})
    assert changed.json == made | {"batch_size": 3, "max_concurrency": 4}
    (mapping,) = mappings()
    assert (mapping["BatchSize"], mapping["ScalingConfig"]) == (3, {"MaximumConcurrency": 4})
    for paused, state in ((True, "Disabled"), (False, "Enabled")):
        assert ask(api, queue, "PATCH", {"paused": paused}).json == changed.json | {"paused": paused}
        assert [mapping["State"] for mapping in mappings()] == [state]
        assert api("GET", f"/v1/queue/{queue}").json["consumer"] == {"type": "function", "paused": paused}
    assert ask(api, queue, "GET").json == changed.json


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "give at least one of batch_size, max_concurrency, min, max"),
        ({"paused": None}, "give at least one of"),
        ({"paused": "true"}, "paused must be true or false"),
        ({"paused": 1}, "paused must be true or false, not 1"),
        ({"max": 3}, "max is for service consumers, not for a webhook one"),
        ({"batch_size": 11}, "batch_size must be a whole number from 1 to 10, not 11"),
        ({"url": HOOK}, "unknown field 'url'"),
        ({"type": "function"}, "unknown field 'type'"),
    ],
)
def test_bad_changes_are_refused(api: Api, changes: Any, says: str) -> None:
    queue = api.queue()
    api.consumer(queue, type="webhook", url=HOOK)
    before = stored()
    answer = ask(api, queue, "PATCH", changes)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert says in answer.json["error"]["message"]
    assert stored() == before


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_without_a_consumer_there_is_none(api: Api, method: str) -> None:
    queue = api.queue()
    answer = ask(api, queue, method, {"paused": True} if method == "PATCH" else None)
    assert (answer.status, answer.code) == (404, "not_found")
    api.consumer(queue, type="webhook", url=HOOK)
    assert ask(api, queue, "DELETE").status == 204
    answer = ask(api, queue, method, {"paused": True} if method == "PATCH" else None)
    assert (answer.status, answer.code) == (404, "not_found")


def test_a_removed_consumer_leaves_the_queue_as_it_was(api: Api, role: str) -> None:
    queue = api.queue()
    before = stored(), policy(queue)
    for settings in ({"type": "function", "function": "resize"}, {"type": "webhook", "url": HOOK}) * 2:
        api.consumer(queue, **settings)
        assert ask(api, queue, "DELETE").status == 204
        assert (stored(), policy(queue)) == before
        assert mappings() == []
        assert api("GET", f"/v1/queue/{queue}").json["consumer"] is None


def test_a_new_webhook_has_a_new_secret(api: Api) -> None:
    queue = api.queue()
    first = api.consumer(queue, type="webhook", url=HOOK)["secret"]
    ask(api, queue, "DELETE")
    assert api.consumer(queue, type="webhook", url=HOOK)["secret"] != first


def test_another_mapping_of_the_queue_is_not_ours(api: Api, role: str) -> None:
    deploy("natively")
    queue = api.queue()
    (url,) = boto3.client("sqs").list_queues()["QueueUrls"]
    arn = boto3.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    boto3.client("lambda").create_event_source_mapping(EventSourceArn=arn, FunctionName="natively")
    api.consumer(queue, type="function", function="resize")
    assert ask(api, queue, "DELETE").status == 204
    assert [mapping["FunctionArn"].rpartition(":")[2] for mapping in mappings()] == ["natively"]


def test_a_companys_consumers_may_do_so_much_at_once_in_all(api: Api, stranger: Api, role: str) -> None:
    first, second, third = (api.queue(name) for name in "abc")
    colleague = api.new_key(api.new_user())
    api.consumer(first, type="function", function="resize", max_concurrency=30)
    colleague.consumer(colleague.queue(), type="webhook", url=HOOK, max_concurrency=15)
    answer = set_to(api, second, type="webhook", url=HOOK, max_concurrency=6)
    assert (answer.status, answer.code) == (429, "rate_limited")
    assert answer.json["error"]["message"].endswith("may be 50 in all"), "what others use is nobody's business"
    limits = {name: answer.headers[f"X-RateLimit-{name}"] for name in ("Limit", "Remaining", "Reset")}
    assert limits == {"Limit": "50", "Remaining": "0", "Reset": "300"}
    assert answer.headers["Retry-After"] == "300"
    assert (len(mappings()), len(secrets())) == (2, 1)
    api.consumer(second, type="webhook", url=HOOK, max_concurrency=5)
    assert booked(api.company) == (50, 50)
    assert set_to(api, third, type="webhook", url=HOOK, max_concurrency=2).status == 429
    assert set_to(api, third, type="webhook", url=HOOK, max_concurrency=1000).status == 429
    assert ask(api, second, "PATCH", {"max_concurrency": 6}).status == 429
    assert ask(api, first, "PATCH", {"max_concurrency": 28}).status == 200
    assert ask(api, second, "PATCH", {"max_concurrency": 6}).status == 200
    assert booked(api.company) == (49, 49)
    assert ask(api, first, "DELETE").status == 204
    assert booked(api.company) == (21, 21)
    stranger.consumer(stranger.queue(), type="webhook", url=HOOK, max_concurrency=50)


def test_the_last_of_it_goes_to_one_of_two(api: Api, calls: Calls) -> None:
    queues = [api.queue(name) for name in "ab"]
    answers: list[Answer] = []

    def other() -> None:
        answers.append(set_to(api, queues[0], type="webhook", url=HOOK, max_concurrency=30))

    calls.fail("TransactWriteItems", other)
    answers.append(set_to(api, queues[1], type="webhook", url=HOOK, max_concurrency=30))
    assert [answer.status for answer in answers] == [201, 429]
    assert booked(api.company) == (30, 30)


def test_what_a_consumer_holds_is_free_when_its_queue_or_user_is_destroyed(api: Api, role: str) -> None:
    queue = api.queue("own")
    api.consumer(queue, type="function", function="resize", max_concurrency=20)
    owner = api.new_key(api.new_user())
    for name in "ab":
        owner.consumer(owner.queue(name), type="webhook", url=HOOK, max_concurrency=15)
    assert booked(api.company) == (50, 50)
    assert api("DELETE", f"/v1/queue/{queue}").status == 204
    assert booked(api.company) == (30, 30)
    assert len(mappings()) == 2
    assert api("DELETE", f"/v1/users/{owner.user}", force="true").status == 204
    destroy_user(owner.user)
    assert booked(api.company) == (0, 0)
    assert (mappings(), secrets()) == ([], [])


def test_the_limits_say_which_functions_a_company_has_to_whoever_has_a_key(api: Api, calls: Calls) -> None:
    arn = "arn:aws:lambda:us-east-1:123456789012:function:"
    pages = [
        {"ResourceTagMappingList": [{"ResourceARN": f"{arn}resize"}], "PaginationToken": "more"},
        {"ResourceTagMappingList": [{"ResourceARN": f"{arn}mail"}], "PaginationToken": ""},
    ]
    calls.fail("GetResources", *pages)
    answer = api("GET", "/v1/limits")
    assert answer.json["functions"] == ["mail", "resize"]
    assert answer.json["concurrency_per_company"] == 50
    first, second = calls.arguments("GetResources")
    assert first["TagFilters"] == [{"Key": "naive:company", "Values": [api.company]}]
    assert (first["ResourceTypeFilters"], second["PaginationToken"]) == (["lambda:function"], "more")
    nobody = Api("", "", "")
    assert nobody("GET", "/v1/limits", headers={"authorization": "Bearer x"}).status == 401


def service(api: Api, user: str | None = None, state: str = "active") -> str:
    """The id of a new service."""
    service_id = new_id()
    record = {"id": service_id, "company": api.company, "user": user or api.user, "name": "worker", "state": state}
    more = {"image": "i", "command": [], "cpu": 256, "memory": 512, "env": {}, "key_id": "k", "created_at": "1.0"}
    table.transact([table.put({**table.at((f"SERVICE#{service_id}", "SERVICE")), **record, **more})])
    return service_id


def queue_of(service_id: str) -> str | None:
    key = f"SERVICE#{service_id}", "SERVICE"
    found: str | None = table.read([key])[key].get("queue_id")
    return found


class Scaler:
    """What the scaler is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.faults: list[Exception] = []

    def tell(self, what: str) -> Any:
        def told(queue: Any, *service: Any) -> None:
            self.told.append((what, queue.id, queue.consumer and queue.consumer["max"], *service))
            if self.faults:
                raise self.faults.pop(0)

        return told


@pytest.fixture
def scaled(monkeypatch: pytest.MonkeyPatch) -> Scaler:
    made = Scaler()
    for what in "attach", "changed", "detach":
        monkeypatch.setattr(scaler, what, made.tell(what))
    return made


def due(queue: str) -> Any:
    return table.read([("QUEUE#" + queue, "QUEUE")])["QUEUE#" + queue, "QUEUE"].get("due")


def test_a_service_is_handed_to_the_scaler(api: Api, scaled: Scaler) -> None:
    queue, worker = api.queue(), service(api)
    made = api.consumer(queue, type="service", service_id=worker)
    assert made == {
        "type": "service",
        "service_id": worker,
        "min": 0,
        "max": 10,
        "messages_per_worker": 10,
        "idle_seconds": 60,
        "paused": False,
        "created_at": made["created_at"],
    }
    assert (queue_of(worker), due(queue)) == (queue, "service")
    assert ask(api, queue, "PATCH", {"max": 20, "paused": True}).json == made | {"max": 20, "paused": True}
    assert due(queue) == "service"
    assert ask(api, queue, "DELETE").status == 204
    assert (queue_of(worker), due(queue)) == (None, None)
    assert scaled.told == [
        ("attach", queue, 10, worker),
        ("changed", queue, 20),
        ("detach", queue, None, worker),
    ]
    assert (mappings(), booked(api.company)) == ([], (0, 0))


def test_a_service_that_is_not_the_owners_is_not_there(api: Api, stranger: Api, scaled: Scaler) -> None:
    queue = api.queue()
    others = [
        service(stranger),
        service(api, api.new_user()),
        service(api, state="deleting"),
        new_id(),
        "x",
        "X" * 3000,
    ]
    answers = [set_to(api, queue, type="service", service_id=other) for other in others]
    assert {(answer.status, json.dumps(error(answer))) for answer in answers} == {
        (404, json.dumps(error(api("GET", f"/v1/queue/{new_id()}"))))
    }
    assert scaled.told == []


def test_a_service_works_for_one_queue(api: Api, scaled: Scaler) -> None:
    worker = service(api)
    api.consumer(api.queue("a"), type="service", service_id=worker)
    assert set_to(api, api.queue("b"), type="service", service_id=worker).status == 409


def test_a_service_is_detached_when_its_queue_is_destroyed(api: Api, scaled: Scaler) -> None:
    queue, worker = api.queue(), service(api)
    api.consumer(queue, type="service", service_id=worker)
    assert api("DELETE", f"/v1/queue/{queue}").status == 204
    assert [told[0] for told in scaled.told] == ["attach", "detach"]
    assert queue_of(worker) is None
    assert [item for item in stored() if queue in repr(item)] == []


def test_a_service_that_cannot_be_attached_is_not_the_consumer(api: Api, scaled: Scaler) -> None:
    queue, worker = api.queue(), service(api)
    scaled.faults = [aws_fault("AccessDenied", 403)]
    assert set_to(api, queue, type="service", service_id=worker).status == 500
    assert (queue_of(worker), due(queue)) == (None, "consumer")
    assert ask(api, queue, "GET").status == 404
    assert api.consumer(queue, type="service", service_id=worker)["service_id"] == worker


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
def test_a_consumer_of_a_queue_that_goes_meanwhile_is_gone(api: Api, calls: Calls, method: str) -> None:
    queue = api.queue()
    if method != "POST":
        api.consumer(queue, type="webhook", url=HOOK)
    # Between the look at the key and the look at the record.
    calls.fail("BatchGetItem", None, lambda: api("DELETE", f"/v1/queue/{queue}"))
    body = {"POST": {"type": "webhook", "url": HOOK}, "PATCH": {"paused": True}, "DELETE": None}[method]
    assert ask(api, queue, method, body).status == 404
    assert (mappings(), booked(api.company)) == ([], (0, 0))


def test_a_change_that_never_gets_its_turn_is_told_so(api: Api, calls: Calls) -> None:
    queue = api.queue()
    api.consumer(queue, type="webhook", url=HOOK)
    reasons = {"CancellationReasons": [{"Code": "ConditionalCheckFailed"}]}
    cancelled = aws_fault("TransactionCanceledException")
    cancelled.response.update(reasons)  # type: ignore[typeddict-item]  # DynamoDB's own
    calls.fail("TransactWriteItems", *[cancelled] * 3)
    answer = ask(api, queue, "PATCH", {"paused": True})
    assert (answer.status, answer.code) == (409, "request_in_progress")
    assert answer.headers["Retry-After"] == "1"


def test_created_at_is_when_it_was_set(api: Api) -> None:
    before = time.time()
    made = api.consumer(api.queue(), type="webhook", url=HOOK)
    assert made["created_at"].endswith("Z")
    assert made["created_at"][:10] == time.strftime("%Y-%m-%d", time.gmtime(before))


def test_employment_is_asked_in_the_transaction_of_the_queue(api: Api, scaled: Scaler, calls: Calls) -> None:
    queue, worker = api.queue(), service(api)
    calls.made.clear()
    api.consumer(queue, type="service", service_id=worker)
    (transaction,) = calls.arguments("TransactWriteItems")
    kinds = {next(iter(write.values()))["Key"]["sk"]["S"] for write in transaction["TransactItems"]}
    assert kinds == {"QUEUE", "SERVICE"}
    assert employment.end(worker, new_id()) == []
