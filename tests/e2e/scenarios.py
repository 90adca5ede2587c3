"""Every operation of the deployed stack, made ready up to the one call that is its own, to be run under any rights."""

import json
import time
from collections.abc import Callable
from typing import Any

import httpx

from tests.e2e.conftest import Api, unique
from tests.e2e.deployed import invoked, operator, output, records

type Steps = list[Callable[[], object]]
"""An operation that is ready to be run, step by step; one raises Failed when it does not do all that it should."""

REFUSED = "failed on our side"
LEFT = "left something to the reconciler"
KEPT = "kept what it did not return or move"
ASLEEP = "did not wake the queue's service"
CAME_BACK = "let what failed come back at once"

NOBODY = "http://127.0.0.1:9/"
"""A webhook that nobody answers."""

EXAMPLE = "naive-local-consumer_example"
FEW = {"max_concurrency": 2}

LARGE = "x" * (100 * 1024 + 1)
"""A body of which the queue's record has to tell the receives."""
OUTGROWING = '"' * (1024 * 1024)
"""A body of which two do not fit into one answer."""


class Failed(Exception):
    """What an operation did not do."""


def create_queue(api: Api) -> Steps:
    taken_over = unique()
    leave("QUEUE", api.queue(taken_over), state="creating", due="creating")
    return [
        lambda: repeated(api, "/v1/queue", {"name": unique()}, status=201),
        lambda: done(api("POST", "/v1/queue", {"name": taken_over}), status=201),
    ]


def list_queues(api: Api) -> Steps:
    return [lambda: done(api("GET", "/v1/queue"))]


def get_queue(api: Api) -> Steps:
    queue = api.queue()
    return [lambda: done(api("GET", f"/v1/queue/{queue}"))]


def update_queue(api: Api) -> Steps:
    queue = api.queue()
    return [lambda: done(api("PATCH", f"/v1/queue/{queue}", {"visibility_timeout": 5}))]


def get_queue_attributes(api: Api) -> Steps:
    queue = api.queue()
    return [lambda: done(api("GET", f"/v1/queue/{queue}/attributes"))]


def purge_queue(api: Api) -> Steps:
    queue = api.queue()
    return [lambda: repeated(api, f"/v1/queue/{queue}/purge", {}, status=202)]


def delete_queue(api: Api) -> Steps:
    hooked, (worked, service) = with_webhook(api, dlq=True), with_service(api)

    def act(queue: str) -> None:
        done(api("DELETE", f"/v1/queue/{queue}"), status=204)
        expect_gone(("QUEUE", queue))

    return [lambda: act(hooked), lambda: act(worked), lambda: expect_desired(service, 0)]


def create_consumer(api: Api) -> Steps:
    hooked, fed, worked, service = with_room(api), with_example(api), api.queue(), api.service()
    api.send(worked)
    webhook, function = {"type": "webhook", "url": NOBODY}, {"type": "function", "function": EXAMPLE}
    scaled = {"type": "service", "service_id": service}
    return [
        lambda: repeated(api, f"/v1/queue/{hooked}/consumer", webhook | FEW, status=201, secret="secret"),
        lambda: done(api("POST", f"/v1/queue/{fed}/consumer", function | FEW), status=201),
        lambda: done(api("POST", f"/v1/queue/{worked}/consumer", scaled), status=201),
        lambda: expect_desired(service, 1),
    ]


def get_consumer(api: Api) -> Steps:
    queue = with_webhook(api)
    return [lambda: done(api("GET", f"/v1/queue/{queue}/consumer"))]


def update_consumer(api: Api) -> Steps:
    hooked, (worked, service) = with_webhook(api), paused_with_work(api)

    def act() -> None:
        done(api("PATCH", f"/v1/queue/{hooked}/consumer", {"paused": True}))
        expect_settled(hooked)

    return [
        act,
        lambda: done(api("PATCH", f"/v1/queue/{worked}/consumer", {"paused": False})),
        lambda: expect_desired(service, 1),
    ]


def delete_consumer(api: Api) -> Steps:
    hooked, fed, (worked, service) = with_webhook(api), with_function(api), with_service(api)

    def act(queue: str) -> None:
        done(api("DELETE", f"/v1/queue/{queue}/consumer"), status=204)
        expect_settled(queue)

    return [lambda: act(hooked), lambda: act(fed), lambda: act(worked), lambda: expect_desired(service, 0)]


def webhook_worker(api: Api) -> Steps:
    queue = with_webhook(api)
    done(api("PATCH", f"/v1/queue/{queue}/consumer", {"paused": True}))
    url = opened(queue, "url")
    operator("sqs").set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "1"})

    def act() -> None:
        message = delivered_natively(url)
        run("webhook_worker", Records=[{**message, "eventSourceARN": f"arn:aws:sqs:::{url.rpartition('/')[2]}"}])
        time.sleep(1.5)
        if not in_flight(url):
            raise Failed(CAME_BACK)

    return [act]


def consumer_example(_: Api) -> Steps:
    arn = "arn:aws:sqs:us-east-1:000000000000:example"

    def act(name: str, body: str, failures: int) -> None:
        answer = run("consumer_example", Records=[fed_record(arn, name, body, "handle")])
        if len(answer["batchItemFailures"]) != failures:
            raise Failed(REFUSED)

    again = unique()
    return [
        lambda: act(unique(), "{}", 0),
        lambda: act(again, "no JSON", 1),
        lambda: act(again, "{}", 0),
    ]


def send_message(api: Api) -> Steps:
    path = f"/v1/queue/{api.queue()}/messages"
    worked, service = asleep(api)
    return [
        lambda: repeated(api, path, {"body": "x"}, status=201),
        lambda: done(api("POST", path, {"body": LARGE}), status=201),
        lambda: done(api("POST", f"/v1/queue/{worked}/messages", {"body": "x"}), status=201),
        lambda: expect_woken(service),
    ]


def send_message_batch(api: Api) -> Steps:
    path = f"/v1/queue/{api.queue()}/messages/batch"
    worked, service = asleep(api)
    return [
        lambda: repeated(api, path, {"messages": [{"body": "x"}]}),
        lambda: done(api("POST", path, {"messages": [{"body": LARGE}]})),
        lambda: done(api("POST", f"/v1/queue/{worked}/messages/batch", {"messages": [{"body": "x"}]})),
        lambda: expect_woken(service),
    ]


def receive_messages(api: Api) -> Steps:
    queue = api.queue()
    url = opened(queue, "url")
    for _ in range(2):
        operator("sqs").send_message(QueueUrl=url, MessageBody=OUTGROWING)

    def act() -> None:
        returned = done(api("GET", f"/v1/queue/{queue}/messages", max=10))["messages"]
        if in_flight(url) > len(returned):
            raise Failed(KEPT)

    return [act]


def delete_message(api: Api) -> Steps:
    queue, (handle,) = leased(api, 1)
    return [lambda: done(api("DELETE", f"/v1/queue/{queue}/messages", receipt_handle=handle), status=204)]


def change_message_visibility(api: Api) -> Steps:
    queue, service, (handle,) = leased_asleep(api, 1)
    change = {"receipt_handle": handle, "visibility": 0}
    return [
        lambda: done(api("PATCH", f"/v1/queue/{queue}/messages", change)),
        lambda: expect_woken(service),
    ]


def settle_messages(api: Api) -> Steps:
    queue, service, (first, second) = leased_asleep(api, 2)
    path = f"/v1/queue/{queue}/messages/settle"
    return [
        lambda: repeated(api, path, {"ack": [first]}),
        lambda: done(api("POST", path, {"retry": [{"receipt_handle": second}]})),
        lambda: expect_woken(service),
    ]


def peek_dlq(api: Api) -> Steps:
    queue = api.queue(dlq=True)
    return [lambda: done(api("GET", f"/v1/queue/{queue}/dlq/messages"))]


def purge_dlq(api: Api) -> Steps:
    queue = api.queue(dlq=True)
    return [lambda: repeated(api, f"/v1/queue/{queue}/dlq/purge", {}, status=202)]


def redrive_dlq(api: Api) -> Steps:
    queue = api.queue(dlq=True)
    path, url = f"/v1/queue/{queue}/redrive", opened(queue, "dlq_url")
    # Sent past us, so that the queue's record does not tell of the large one.
    small, _ = (operator("sqs").send_message(QueueUrl=url, MessageBody=body)["MessageId"] for body in ("x", LARGE))

    def act() -> None:
        repeated(api, path, {"message_ids": [small]})
        if in_flight(url):
            raise Failed(KEPT)

    worked, service = asleep(api, dlq=True)
    operator("sqs").send_message(QueueUrl=opened(worked, "dlq_url"), MessageBody="x")
    return [
        act,
        lambda: done(api("POST", path)),
        lambda: done(api("POST", f"/v1/queue/{worked}/redrive")),
        lambda: expect_woken(service),
    ]


def create_compute(api: Api) -> Steps:
    taken_over, queue = unique(), api.queue()
    api.send(queue)
    leave("SERVICE", api.service(name=taken_over), state="creating", due="service_creating")
    return [
        lambda: repeated(api, "/v1/compute", api.new_service(), status=201),
        lambda: done(api("POST", "/v1/compute", api.new_service(name=taken_over)), status=201),
        lambda: done(api("POST", "/v1/compute", api.new_service(queue_id=queue)), status=201),
    ]


def list_compute(api: Api) -> Steps:
    api.service()
    return [lambda: done(api("GET", "/v1/compute"))]


def get_compute(api: Api) -> Steps:
    service = api.service()
    return [lambda: done(api("GET", f"/v1/compute/{service}"))]


def delete_compute(api: Api) -> Steps:
    alone, (queue, employed) = api.service(), with_service(api)

    def act(service: str) -> None:
        done(api("DELETE", f"/v1/compute/{service}"), status=204)
        expect_gone(("SERVICE", service))

    return [lambda: act(alone), lambda: act(employed), lambda: expect_settled(queue)]


def start_compute(api: Api) -> Steps:
    service, (_, employed) = api.service(), paused_with_work(api)
    done(api("POST", f"/v1/compute/{service}/stop"))
    return [
        lambda: repeated(api, f"/v1/compute/{service}/start", {}),
        lambda: done(api("POST", f"/v1/compute/{employed}/start")),
        lambda: expect_desired(employed, 1),
        lambda: done(api("POST", f"/v1/compute/{employed}/start")),  # as it is already
    ]


def stop_compute(api: Api) -> Steps:
    service, (queue, employed) = api.service(), paused_with_work(api)
    done(api("PATCH", f"/v1/queue/{queue}/consumer", {"paused": False}))
    return [
        lambda: repeated(api, f"/v1/compute/{service}/stop", {}),
        lambda: done(api("POST", f"/v1/compute/{employed}/stop")),
        lambda: expect_desired(employed, 0),
    ]


def scale_compute(api: Api) -> Steps:
    service = api.service()
    return [lambda: repeated(api, f"/v1/compute/{service}/scale", {"count": 2})]


def get_compute_logs(api: Api) -> Steps:
    service = api.service()
    return [lambda: done(api("GET", f"/v1/compute/{service}/logs"))]


def create_user(api: Api) -> Steps:
    return [lambda: repeated(api, "/v1/users", {"external_id": unique()}, status=201)]


def list_users(api: Api) -> Steps:
    return [lambda: done(api("GET", "/v1/users"))]


def get_user(api: Api) -> Steps:
    user = new_user(api)
    return [lambda: done(api("GET", f"/v1/users/{user}"))]


def update_user(api: Api) -> Steps:
    user = new_user(api)
    return [lambda: done(api("PATCH", f"/v1/users/{user}", {"external_id": unique()}))]


def delete_user(api: Api) -> Steps:
    user = new_user(api)

    def act() -> None:
        done(api("DELETE", f"/v1/users/{user}"), status=204)
        patience = time.monotonic() + 20
        while record("USER", user) and time.monotonic() < patience:
            time.sleep(0.1)
        expect_gone(("USER", user))

    return [act]


def destroy_user(api: Api) -> Steps:
    user, belongings = user_with_everything(api)

    def act() -> None:
        retire(user, belongings)
        run("destroy_user", user=user)
        expect_gone(("USER", user), *belongings)

    return [act]


def create_key(api: Api) -> Steps:
    key = {"name": "worker", "active_tenant_user_id": new_user(api)}
    return [lambda: repeated(api, "/v1/auth/keys", key, status=201, secret="api_key")]


def list_keys(api: Api) -> Steps:
    return [lambda: done(api("GET", "/v1/auth/keys"))]


def delete_key(api: Api) -> Steps:
    key = new_key(api)
    return [lambda: done(api("DELETE", f"/v1/auth/keys/{key}"), status=204)]


def get_limits(api: Api) -> Steps:
    return [lambda: done(api("GET", "/v1/limits"))]


def health(api: Api) -> Steps:
    return [lambda: done(api("GET", "/health"))]


def openapi(api: Api) -> Steps:
    return [lambda: done(api("GET", "/openapi.json"))]


def not_found(api: Api) -> Steps:
    return [lambda: done(api("GET", "/nowhere"), status=404)]


def bootstrap(_: Api) -> Steps:
    company = unique()
    return [
        lambda: run("bootstrap", company=company),
        lambda: run("bootstrap", company=company, new_key=True),
    ]


def reconcile(api: Api) -> Steps:
    user, belongings = user_with_everything(api)
    changed, replaced = with_webhook(api), with_function(api)
    employed = api.service(queue_id=api.queue())
    attached, (dropped, _), (neglected, service) = with_service(api), with_service(api), asleep(api)
    operator("sqs").send_message(QueueUrl=opened(neglected, "url"), MessageBody="x")

    def act() -> None:
        retire(user, belongings)
        webhook = record("QUEUE", changed)["consumer"]
        leave("QUEUE", attached[0], due="consumer")
        leave("QUEUE", dropped, due="consumer", consumer=webhook)
        leave("QUEUE", replaced, due="consumer", consumer=webhook)
        leave("QUEUE", changed, due="consumer", consumer={"M": webhook["M"] | {"batch_size": {"N": "3"}}})
        leave("SERVICE", employed, due="service_changed")
        run("reconcile")
        expect_gone(("USER", user), *belongings)
        expect_settled(changed)
        expect_settled(replaced)
        expect_settled(attached[0])
        expect_settled(dropped)
        expect_desired(service, 1)
        if "due" in record("SERVICE", employed):
            raise Failed(LEFT)

    return [act]


def depth_alarm(api: Api) -> Steps:
    queue, service = asleep(api)
    operator("sqs").send_message(QueueUrl=opened(queue, "url"), MessageBody="x")
    tick = json.dumps({"queue": queue, "event": "wake"})
    return [
        lambda: run("depth_alarm", Records=[{"eventSource": "aws:sqs", "body": tick}]),
        lambda: expect_desired(service, 1),
    ]


SCENARIOS: dict[str, Callable[[Api], Steps]] = {
    scenario.__name__: scenario
    for scenario in (
        bootstrap,
        change_message_visibility,
        consumer_example,
        create_compute,
        create_consumer,
        create_key,
        create_queue,
        create_user,
        delete_compute,
        delete_consumer,
        delete_key,
        delete_message,
        delete_queue,
        delete_user,
        depth_alarm,
        destroy_user,
        get_compute,
        get_compute_logs,
        get_consumer,
        get_limits,
        get_queue,
        get_queue_attributes,
        get_user,
        health,
        list_compute,
        list_keys,
        list_queues,
        list_users,
        not_found,
        openapi,
        peek_dlq,
        purge_dlq,
        purge_queue,
        receive_messages,
        reconcile,
        redrive_dlq,
        scale_compute,
        send_message,
        send_message_batch,
        settle_messages,
        start_compute,
        stop_compute,
        update_consumer,
        update_queue,
        update_user,
        webhook_worker,
    )
}
"""By the name of the function's folder: how it is made ready, for a caller who has just come."""


def done(answer: httpx.Response, *, status: int = 200) -> Any:
    """The body of an answer, which must have this status."""
    if answer.status_code in (500, 503):
        raise Failed(REFUSED)
    if answer.status_code != status:
        raise Failed(f"{answer.status_code} {answer.json()['error']['code']}")
    return answer.json() if answer.content else None


def repeated(api: Api, path: str, body: Any, *, status: int = 200, secret: str = "") -> None:
    """A POST with an Idempotency-Key: one that is refused, one that is done, and its repeat, without the secret."""
    done(api("POST", path, {"unknown": True}, headers={"Idempotency-Key": unique()}), status=400)
    headers = {"Idempotency-Key": unique()}
    first, second = (done(api("POST", path, body, headers=headers), status=status) for _ in range(2))
    if second != first | ({secret: None} if secret else {}):
        raise Failed("did it twice")


def run(operation: str, **event: Any) -> Any:
    """What a function answers that no request calls."""
    try:
        return invoked(operation, **event)
    except RuntimeError as fault:
        raise Failed(REFUSED) from fault


def leased(api: Api, number: int) -> tuple[str, list[str]]:
    """A queue and the handles of so many messages of it."""
    queue = api.queue()
    for _ in range(number):
        api.send(queue)
    return queue, [message["receipt_handle"] for message in api.receive(queue, max=10)]


def with_room(api: Api, **settings: Any) -> str:
    """A queue whose company may have a consumer more, however many it has."""
    queue = api.queue(**settings)
    operator("dynamodb").update_item(
        **where("COMPANY", record("QUEUE", queue)["company"]["S"]),
        UpdateExpression="SET concurrency = :none",
        ExpressionAttributeValues={":none": {"N": "0"}},
    )
    return queue


def with_webhook(api: Api, **settings: Any) -> str:
    """A queue whose webhook answers nobody."""
    queue = with_room(api, **settings)
    done(api("POST", f"/v1/queue/{queue}/consumer", {"type": "webhook", "url": NOBODY} | FEW), status=201)
    return queue


def with_example(api: Api) -> str:
    """A queue that may have the example of a consumer, as all of its company may from now on."""
    queue = with_room(api)
    arn = operator("lambda").get_function_configuration(FunctionName=EXAMPLE)["FunctionArn"]
    operator("lambda").tag_resource(Resource=arn, Tags={"naive:company": record("QUEUE", queue)["company"]["S"]})
    return queue


def with_function(api: Api) -> str:
    """A queue that the example of a consumer works off."""
    queue = with_example(api)
    done(api("POST", f"/v1/queue/{queue}/consumer", {"type": "function", "function": EXAMPLE} | FEW), status=201)
    return queue


def with_service(api: Api, **settings: Any) -> tuple[str, str]:
    """A queue and the service that works it off, however many services its user has."""
    queue = api.queue(**settings)
    operator("dynamodb").update_item(
        **where("USER", record("QUEUE", queue)["user"]["S"]),
        UpdateExpression="SET services = :none",
        ExpressionAttributeValues={":none": {"N": "0"}},
    )
    return queue, api.service(queue_id=queue)


def paused_with_work(api: Api) -> tuple[str, str]:
    """A queue with a message, and its service, which is paused."""
    queue, service = with_service(api)
    done(api("PATCH", f"/v1/queue/{queue}/consumer", {"paused": True}))
    api.send(queue)
    return queue, service


def asleep(api: Api, **settings: Any) -> tuple[str, str]:
    """A queue and its service, which nobody but a sender wakes."""
    queue, service = with_service(api, **settings)
    put_to_sleep(queue)
    return queue, service


def leased_asleep(api: Api, number: int) -> tuple[str, str, list[str]]:
    """The same, and the handles of so many messages of the queue."""
    queue, service = paused_with_work(api)
    for _ in range(number - 1):
        api.send(queue)
    handles = [message["receipt_handle"] for message in api.receive(queue, max=10)]
    put_to_sleep(queue)
    return queue, service, handles


def put_to_sleep(queue: str) -> None:
    """Lets the queue's record say that nobody looks at it, and takes its alarm away."""
    found = record("QUEUE", queue)
    name = found["url"]["S"].rpartition("/")[2]
    consumer, state = ({"M": found[field]["M"]} for field in ("consumer", "scaling"))
    consumer["M"]["paused"] = {"BOOL": False}
    state["M"] |= {"n": {"N": "4000000000"}, "mode": {"S": "asleep"}, "look_at": {"NULL": True}}
    leave("QUEUE", queue, due="service", consumer=consumer, scaling=state)
    operator("cloudwatch").delete_alarms(AlarmNames=[name])


def abandon_services() -> None:
    """Lets nobody look at any queue, and removes all services from ECS: hundreds would slow down what follows."""
    pages = operator("ecs").get_paginator("list_services").paginate(cluster="naive-local")
    services = [arn.rpartition("/")[2] for page in pages for arn in page["serviceArns"]]
    if not services:
        return
    for item in records("Registry"):
        if "scaling" in item:
            operator("dynamodb").update_item(
                **where("QUEUE", item["id"]["S"]), UpdateExpression="REMOVE scaling, consumer, mapping, due, due_at"
            )
    for service in services:
        operator("ecs").delete_service(cluster="naive-local", service=service, force=True)
    alarms = operator("cloudwatch").describe_alarms()["MetricAlarms"]
    operator("cloudwatch").delete_alarms(AlarmNames=[alarm["AlarmName"] for alarm in alarms])


def fed_record(arn: str, message_id: str, body: str, handle: str) -> dict[str, Any]:
    """A message as Lambda hands it to a function."""
    return {
        "messageId": message_id,
        "receiptHandle": handle,
        "body": body,
        "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "1796040000000"},
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
        "awsRegion": "us-east-1",
    }


def opened(queue: str, url: str) -> str:
    """The address of an SQS queue whose policy, which shuts the operator out too, is taken away."""
    address = str(record("QUEUE", queue)[url]["S"])
    operator("sqs").set_queue_attributes(QueueUrl=address, Attributes={"Policy": ""})
    return address


def delivered_natively(url: str) -> dict[str, Any]:
    """A message as a mapping hands it to a function."""
    operator("sqs").send_message(QueueUrl=url, MessageBody="x")
    (message,) = operator("sqs").receive_message(QueueUrl=url, MessageSystemAttributeNames=["All"])["Messages"]
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
        "messageAttributes": {},
    }


def in_flight(url: str) -> int:
    name = "ApproximateNumberOfMessagesNotVisible"
    return int(operator("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name])


def new_user(api: Api) -> str:
    return str(done(api("POST", "/v1/users", {"external_id": unique()}), status=201)["id"])


def new_key(api: Api, **fields: Any) -> str:
    return str(done(api("POST", "/v1/auth/keys", {"name": "worker", **fields}), status=201)["key_id"])


def user_with_everything(api: Api) -> tuple[str, list[tuple[str, str]]]:
    """A user with a sealed key, three queues (one with a webhook, one with a service) and three services.

    The kinds and ids of all these.
    """
    with_room(api)
    user = new_user(api)
    new_key(api, active_tenant_user_id=user)
    belongings = []
    for kind, path, new in (("QUEUE", "queue", lambda: {"name": unique()}), ("SERVICE", "compute", api.new_service)):
        made = (done(api("POST", f"/v1/users/{user}/{path}", new()), status=201) for _ in range(2))
        belongings += [(kind, thing["id"]) for thing in made]
    consumer = f"/v1/users/{user}/queue/{belongings[0][1]}/consumer"
    done(api("POST", consumer, {"type": "webhook", "url": NOBODY} | FEW), status=201)
    worked = done(api("POST", f"/v1/users/{user}/queue", {"name": unique()}), status=201)["id"]
    worker = done(api("POST", f"/v1/users/{user}/compute", api.new_service(queue_id=worked)), status=201)["id"]
    return user, [*belongings, ("SERVICE", worker), ("QUEUE", worked)]


def retire(user: str, belongings: list[tuple[str, str]]) -> None:
    """Lets a user be deleted, of whom everything is left, while one of the queues and services was being made."""
    for kind, half_made in belongings[1::2]:
        leave(kind, half_made, state="creating", due={"QUEUE": "creating", "SERVICE": "service_creating"}[kind])
    leave("USER", user, status="deleting", due="user")


def leave(kind: str, of: str, **fields: Any) -> None:
    """Lets the record of a queue, a service or a user say that a function has died at it long ago."""
    operator("dynamodb").update_item(
        **where(kind, of),
        UpdateExpression="SET due_at = :then, " + ", ".join(f"#{field} = :{field}" for field in fields),
        ExpressionAttributeNames={f"#{field}": field for field in fields},
        ExpressionAttributeValues={
            ":then": {"N": "1"},
            **{f":{name}": {"S": value} if isinstance(value, str) else value for name, value in fields.items()},
        },
    )


def expect_gone(*records: tuple[str, str]) -> None:
    if any(record(kind, of) for kind, of in records):
        raise Failed(LEFT)


def expect_settled(queue: str) -> None:
    """AWS has for the queue's consumer what is wanted."""
    if record("QUEUE", queue).get("due", {}).get("S") == "consumer":
        raise Failed(LEFT)


def expect_desired(service: str, count: int) -> None:
    if desired(service) != count:
        raise Failed(LEFT)


def expect_woken(service: str) -> None:
    patience = time.monotonic() + 5
    while not desired(service):
        if time.monotonic() > patience:
            raise Failed(ASLEEP)
        time.sleep(0.1)


def desired(service: str) -> int:
    """How many tasks a service should have."""
    user = record("SERVICE", service)["user"]["S"]
    name = f"nv-local-{user.replace('-', '')[:24]}-{service.replace('-', '')}"
    (found,) = operator("ecs").describe_services(cluster="naive-local", services=[name])["services"]
    return int(found["desiredCount"])


def record(kind: str, of: str) -> Any:
    """What the registry has of a queue, a service or a user."""
    return operator("dynamodb").get_item(**where(kind, of)).get("Item")


def where(kind: str, of: str) -> dict[str, Any]:
    return {"TableName": output("RegistryTableName"), "Key": {"pk": {"S": f"{kind}#{of}"}, "sk": {"S": kind}}}
