"""Queues that are worked off by themselves on the deployed stack: by functions of an operator's, and by webhooks."""

import base64
import io
import json
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from tests.e2e.conftest import Api, Cli, client, unique
from tests.e2e.deployed import invoked, operator, output, records
from tests.receiver import Call, Receiver, answering, receiving

EXAMPLE = "naive-local-consumer_example"
LOGS = "/naive/local/functions"
RECORDER = """
import json, os, time
import boto3

table = boto3.client("dynamodb")


def handler(event, context):
    failed = []
    for record in event["Records"]:
        body, facts = json.loads(record["body"]), record["attributes"]
        ok = not body.get("poison")
        table.put_item(TableName=os.environ["SEEN"], Item={
            "id": {"S": f"{time.time():.6f} {record['messageId']} {facts['ApproximateReceiveCount']}"},
            "name": {"S": body["name"]}, "ok": {"BOOL": ok}, "batch": {"N": str(len(event["Records"]))},
        })
        if not ok:
            failed.append({"itemIdentifier": record["messageId"]})
            if record["eventSourceARN"].endswith(".fifo"):
                later = event["Records"][event["Records"].index(record) + 1:]
                failed += [{"itemIdentifier": other["messageId"]} for other in later]
                break
    return {"batchItemFailures": failed}
"""


@dataclass(frozen=True)
class Company:
    """A company with a function that records what it is fed."""

    api: Api
    id: str
    function: str

    def seen(self) -> list[Any]:
        """What the function was given, in order."""
        found = operator("dynamodb").scan(TableName=self.function)["Items"]
        return sorted(found, key=lambda item: str(item["id"]["S"]))

    def done(self) -> list[str]:
        """The names of the messages that it was done with, in order."""
        return [item["name"]["S"] for item in self.seen() if item["ok"]["BOOL"]]

    def set(self, queue: str, **settings: Any) -> Any:
        answer = self.api("POST", f"/v1/queue/{queue}/consumer", settings)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def feed(self, queue: str, **settings: Any) -> Any:
        return self.set(queue, type="function", function=self.function, max_concurrency=2, **settings)

    def send(self, queue: str, name: str, **fields: Any) -> None:
        poison = {"poison": True} if name == "poison" else {}
        self.api.send(queue, json.dumps({"name": name, **poison}), **fields)

    def change(self, queue: str, **settings: Any) -> Any:
        answer = self.api("PATCH", f"/v1/queue/{queue}/consumer", settings)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def remove(self, queue: str) -> None:
        assert self.api("DELETE", f"/v1/queue/{queue}/consumer").status_code == 204


@pytest.fixture
def company() -> Iterator[Company]:
    """A new company, whose function is deployed as an operator does it."""
    made = invoked("bootstrap", company=unique())
    function = unique()
    functions, iam, tables = operator("lambda"), operator("iam"), operator("dynamodb")
    tables.create_table(
        TableName=function,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )
    rights: list[dict[str, Any]] = [
        {"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": f"arn:aws:dynamodb:*:*:table/{function}"},
        {
            "Effect": "Allow",
            "Action": ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"],
            "Resource": "arn:aws:sqs:*:*:nv-local-*",
        },
    ]
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    role = iam.create_role(RoleName=function, Path="/operators/", AssumeRolePolicyDocument=document(trust))["Role"]
    iam.put_role_policy(RoleName=function, PolicyName="work", PolicyDocument=document(*rights))
    layers = operator("lambda").get_function_configuration(FunctionName=EXAMPLE)["Layers"]
    functions.create_function(
        FunctionName=function,
        Runtime="python3.13",
        Role=role["Arn"],
        Handler="app.handler",
        Code={"ZipFile": zipped(RECORDER)},
        Timeout=3,
        Layers=[layer["Arn"] for layer in layers],
        Environment={"Variables": {"SEEN": function}},
        Tags={"naive:company": made["company_id"]},
    )
    with client(made["api_key"]) as http:
        yield Company(Api(http), made["company_id"], function)
    functions.delete_function(FunctionName=function)
    iam.delete_role_policy(RoleName=function, PolicyName="work")
    iam.delete_role(RoleName=function)
    tables.delete_table(TableName=function)


def document(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


@cache
def zipped(text: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("app.py", text)
    return file.getvalue()


def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for what is to come, which the test asserts then."""
    patience = time.monotonic() + seconds
    while not holds() and time.monotonic() < patience:
        time.sleep(0.2)


def admitted(queue: str) -> str:
    """The policy of the SQS queue, read back."""
    (record,) = (item for item in records("Registry") if item["pk"]["S"] == f"QUEUE#{queue}")
    asked = operator("sqs").get_queue_attributes(QueueUrl=record["url"]["S"], AttributeNames=["Policy"])
    return str(asked["Attributes"]["Policy"])


def mappings(queue: str) -> list[Any]:
    found = operator("lambda").get_paginator("list_event_source_mappings").paginate()
    made = [mapping for page in found for mapping in page["EventSourceMappings"]]
    return [mapping for mapping in made if queue.replace("-", "") in mapping["EventSourceArn"]]


def test_a_function_of_the_companys_works_a_queue_off(company: Company) -> None:
    queue = company.api.queue()
    company.send(queue, "before")
    made = company.feed(queue, batch_size=5)
    (mapping,) = mappings(queue)
    role = f"role/operators/{company.function}"
    assert role in admitted(queue)
    assert (mapping["FunctionResponseTypes"], mapping["BatchSize"]) == (["ReportBatchItemFailures"], 5)
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 2}
    company.send(queue, "after")
    until(lambda: len(company.done()) == 2)
    assert sorted(company.done()) == ["after", "before"]
    assert company.api("GET", f"/v1/queue/{queue}/consumer").json() == made
    until(lambda: company.api.counts(queue)["in_flight"] == 0)
    shown = company.api("GET", f"/v1/queue/{queue}").json()
    assert shown["consumer"] == {"type": "function", "paused": False}
    assert shown["attributes"] == {"depth": 0, "in_flight": 0, "delayed": 0, "dlq_depth": None}
    company.remove(queue)
    assert (mappings(queue), role in admitted(queue)) == ([], False)
    company.send(queue, "later")
    time.sleep(2)
    assert len(company.done()) == 2
    assert company.api.counts(queue)["depth"] == 1


def test_it_is_paused_resumed_and_changed(company: Company) -> None:
    queue = company.api.queue()
    company.feed(queue)
    assert company.change(queue, paused=True)["paused"] is True
    for name in ("a", "b", "c"):
        company.send(queue, name)
    time.sleep(2)
    assert company.done() == []
    company.change(queue, batch_size=1, max_concurrency=3)
    assert company.change(queue, paused=False)["paused"] is False
    until(lambda: len(company.done()) == 3)
    assert sorted(company.done()) == ["a", "b", "c"]
    assert {item["batch"]["N"] for item in company.seen()} == {"1"}
    (mapping,) = mappings(queue)
    assert (mapping["State"], mapping["ScalingConfig"]) == ("Enabled", {"MaximumConcurrency": 3})


def test_a_message_that_fails_comes_back_alone_and_is_dead_after_its_receives(company: Company) -> None:
    queue = company.api.queue(dlq=True, max_receive_count=2, visibility_timeout=3)
    for name in ("a", "poison", "b"):
        company.send(queue, name)
    company.feed(queue)
    until(lambda: company.api.counts(queue)["dlq_depth"] == 1)
    assert sorted(company.done()) == ["a", "b"]
    assert [item["name"]["S"] for item in company.seen()].count("poison") == 2
    (letter,) = company.api("GET", f"/v1/queue/{queue}/dlq/messages").json()["messages"]
    assert json.loads(letter["body"])["name"] == "poison"


def test_of_five_in_a_fifo_group_with_the_poison_first_only_the_poison_dies(company: Company) -> None:
    queue = company.api.queue(type="fifo", dlq=True, max_receive_count=2, visibility_timeout=3)
    for name in ("poison", "a1", "a2", "a3", "a4"):
        company.send(queue, name, group_id="a")
    for name in ("b1", "b2", "b3"):
        company.send(queue, name, group_id="b")
    company.feed(queue)
    until(lambda: len(company.done()) == 7)
    names = [item["name"]["S"] for item in company.seen()]
    assert [name for name in names if name[0] == "a"] == ["a1", "a2", "a3", "a4"]
    assert [name for name in names if name[0] == "b"] == ["b1", "b2", "b3"]
    assert names.count("poison") == 2
    assert names.index("b3") < len(names) - 1 - names[::-1].index("poison"), "the other group has waited"
    assert names.index("a1") > len(names) - 1 - names[::-1].index("poison"), "the poison was overtaken"
    (letter,) = company.api("GET", f"/v1/queue/{queue}/dlq/messages").json()["messages"]
    assert json.loads(letter["body"])["name"] == "poison"
    until(lambda: company.api.counts(queue)["in_flight"] == 0)
    assert company.api.counts(queue) == {"depth": 0, "in_flight": 0, "delayed": 0, "dlq_depth": 1}


def test_a_function_of_anybody_elses_is_refused_as_a_missing_one(company: Company, api: Api) -> None:
    tag(EXAMPLE, company.id)
    tag("naive-local-send_message", company.id)
    others = ["missing", "naive-local-get_queue", "naive-local-send_message", f"{company.function}:$LATEST", "x y"]
    queue, own = company.api.queue(), api.queue()
    answers = [set_function(company.api, queue, name) for name in others]
    answers += [set_function(api, own, name) for name in (company.function, EXAMPLE)]
    assert {answer.status_code for answer in answers} == {400}
    assert len({json.dumps(answer.json()["error"] | {"request_id": ""}) for answer in answers}) == 1
    operator("lambda").untag_resource(Resource=arn_of("naive-local-send_message"), TagKeys=["naive:company"])


def set_function(api: Api, queue: str, name: str) -> Any:
    return api("POST", f"/v1/queue/{queue}/consumer", {"type": "function", "function": name})


def test_the_limits_list_the_functions_of_the_keys_company(company: Company) -> None:
    assert company.api("GET", "/v1/limits").json()["functions"] == [company.function]
    tag(EXAMPLE, company.id)
    assert set(company.api("GET", "/v1/limits").json()["functions"]) == {company.function, EXAMPLE}
    assert "functions" not in company.api("GET", "/v1/limits", headers={"Authorization": ""}).json()


def test_the_example_works_off_a_queue_that_it_is_bound_to(company: Company) -> None:
    tag(EXAMPLE, company.id)
    queue = company.api.queue(type="fifo", visibility_timeout=10)
    company.set(queue, type="function", function=EXAMPLE, max_concurrency=2)
    sent = [company.api.send(queue, str(number), group_id="g")["message_id"] for number in range(3)]
    until(lambda: len(logged(sent)) == 3)
    assert logged(sent) == sent
    company.api("DELETE", f"/v1/queue/{queue}")


def test_the_example_works_off_the_queue_of_the_template() -> None:
    url = output("ConsumerExampleQueueUrl")
    sent = [
        operator("sqs").send_message(QueueUrl=url, MessageBody=body)["MessageId"] for body in ("{}", "1", "no JSON")
    ]
    until(lambda: len(logged(sent)) == 2)
    assert sorted(logged(sent)) == sorted(sent[:2])


def logged(messages: list[str]) -> list[str]:
    """Which of these messages the example says to be done with, in order."""
    found = []
    for message in messages:
        events = operator("logs").filter_log_events(logGroupName=LOGS, filterPattern=f'"{message}"')["events"]
        found += [(event["timestamp"], message) for event in events if '"message":"done"' in event["message"]]
    return [message for _, message in sorted(found, key=lambda line: int(line[0]))]


def tag(function: str, company: str) -> None:
    operator("lambda").tag_resource(Resource=arn_of(function), Tags={"naive:company": company})


def arn_of(function: str) -> str:
    return str(operator("lambda").get_function_configuration(FunctionName=function)["FunctionArn"])


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


def test_a_webhook_gets_each_message_signed(company: Company, receiver: Receiver) -> None:
    queue = company.api.queue()
    secret = company.set(queue, type="webhook", url=receiver.url)["secret"]
    sent = company.api.send(queue, '{"task": "resize"}', attributes={"trace": "a1"})
    company.api.send(queue, "no JSON: ☃")
    until(lambda: len(receiver.requests) == 2)
    first, second = sorted(receiver.requests, key=lambda request: request.body, reverse=True)
    assert Webhook(secret).verify(first.body, first.headers) == {"task": "resize"}
    assert first.headers["webhook-id"] == sent["message_id"]
    assert first.headers["content-type"] == "application/json"
    assert (first.headers["naive-queue-id"], first.headers["naive-receive-count"]) == (queue, "1")
    assert json.loads(base64.urlsafe_b64decode(first.headers["naive-attributes"])) == {"trace": "a1"}
    assert (second.body.decode(), second.headers["content-type"]) == ("no JSON: ☃", "text/plain; charset=utf-8")
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(first.body + b" ", first.headers)
    until(lambda: company.api.counts(queue)["in_flight"] == 0)
    assert company.api.counts(queue)["depth"] == 0
    company.remove(queue)
    company.api.send(queue, "{}")
    time.sleep(2)
    assert len(receiver.requests) == 2
    assert [item for item in records("Registry") if item["pk"]["S"] == f"SECRET#{queue}"] == []


def test_a_webhook_that_fails_gets_the_message_again_until_it_is_dead(company: Company, receiver: Receiver) -> None:
    patient, hasty = company.api.queue(dlq=True), company.api.queue(dlq=True, max_receive_count=1)
    failing = {"again": [500], "never": [503, 503]}

    def behave(call: Call) -> None:
        left = failing.get(call.read().body.decode(), [])
        call.answer(left.pop(0) if left else 200)

    receiver.behave = behave
    for queue, body in ((patient, "again"), (hasty, "never"), (hasty, "fine")):
        company.api.send(queue, body)
    for queue in patient, hasty:
        company.set(queue, type="webhook", url=receiver.url, max_concurrency=2)
    until(lambda: company.api.counts(hasty)["dlq_depth"] == 1 and bodies(receiver).count("again") == 2, seconds=60)
    assert sorted(bodies(receiver)) == ["again", "again", "fine", "never"]
    counts = [request.headers["naive-receive-count"] for request in receiver.requests if request.body == b"again"]
    assert counts == ["1", "2"]
    (letter,) = company.api("GET", f"/v1/queue/{hasty}/dlq/messages").json()["messages"]
    assert letter["body"] == "never"
    until(lambda: company.api.counts(patient)["in_flight"] == 0)
    assert company.api.counts(patient) == {"depth": 0, "in_flight": 0, "delayed": 0, "dlq_depth": 0}


def bodies(receiver: Receiver) -> list[str]:
    return [request.body.decode() for request in receiver.requests]


def test_a_webhook_follows_no_redirect_and_a_fifo_one_gets_a_group_in_order(
    company: Company, receiver: Receiver
) -> None:
    queue = company.api.queue(type="fifo")
    company.set(queue, type="webhook", url=receiver.url)
    for body in ("1", "2", "3"):
        company.api.send(queue, body, group_id="g")
    until(lambda: len(receiver.requests) == 3)
    assert bodies(receiver) == ["1", "2", "3"]
    receiver.behave = answering(302, Location=receiver.url)
    company.api.send(queue, "4", group_id="g")
    until(lambda: len(receiver.requests) == 4)
    time.sleep(1)
    assert len(receiver.requests) == 4


def test_a_queue_and_a_user_that_are_destroyed_leave_no_consumer(company: Company, receiver: Receiver) -> None:
    user = company.api("POST", "/v1/users", {}).json()["id"]
    path = f"/v1/users/{user}/queue"
    theirs = [company.api("POST", path, {"name": name}).json()["id"] for name in ("a", "b")]
    own = company.api.queue()
    company.feed(own)
    function, webhook = {"type": "function", "function": company.function}, {"type": "webhook", "url": receiver.url}
    for queue, settings in zip(theirs, (function, webhook), strict=True):
        assert company.api("POST", f"{path}/{queue}/consumer", settings).status_code == 201
    assert [len(mappings(queue)) for queue in (own, *theirs)] == [1, 1, 1]
    assert company.api("DELETE", f"/v1/queue/{own}").status_code == 204
    assert company.api("DELETE", f"/v1/users/{user}", force="true").status_code == 204
    until(lambda: not [queue for queue in theirs if mappings(queue)])
    assert [mappings(queue) for queue in (own, *theirs)] == [[], [], []]
    until(lambda: not [item for item in records("Registry") if user in repr(item)])
    left = [item for item in records("Registry") if any(queue in repr(item) for queue in (own, *theirs))]
    assert left == []
    (record,) = (item for item in records("Registry") if "concurrency" in item and item["id"]["S"] == company.id)
    assert record["concurrency"] == {"N": "0"}


def test_a_mapping_that_could_not_be_made_yet_is_made_by_the_reconciler(company: Company) -> None:
    queue = company.api.queue()
    company.feed(queue)
    (mapping,) = mappings(queue)
    operator("lambda").delete_event_source_mapping(UUID=mapping["UUID"])
    company.change(queue, batch_size=2)
    table = operator("dynamodb")
    name = output("RegistryTableName")
    key = {"pk": {"S": f"QUEUE#{queue}"}, "sk": {"S": "QUEUE"}}
    assert table.get_item(TableName=name, Key=key)["Item"]["due"] == {"S": "consumer"}
    table.update_item(
        TableName=name, Key=key, UpdateExpression="SET due_at = :then", ExpressionAttributeValues={":then": {"N": "1"}}
    )
    actions = invoked("reconcile")
    assert {action["outcome"] for action in actions if queue in action["resource"]} == {"finished"}
    assert [mapping["BatchSize"] for mapping in mappings(queue)] == [2]
    company.send(queue, "a")
    until(lambda: company.done() == ["a"])
    assert company.done() == ["a"]


def test_the_command_shows_that_a_queue_has_a_consumer(api: Api, cli: Cli, receiver: Receiver) -> None:
    queue = api.queue()
    answer = api("POST", f"/v1/queue/{queue}/consumer", {"type": "webhook", "url": receiver.url, "max_concurrency": 2})
    assert answer.status_code == 201
    assert cli.json("queue", "show", queue)["consumer"] == {"type": "webhook", "paused": False}
    assert api("DELETE", f"/v1/queue/{queue}").status_code == 204
