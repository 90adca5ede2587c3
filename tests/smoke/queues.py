"""What SQS makes of a queue as we ask for it: its settings, who is kept out, its counts and its purge."""

import json
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from tests.smoke.deployment import PATIENCE, Deployment, said
from tests.smoke.runner import Check, Skipped, expect

PURGED_AFTER = 61
STAYS_FOR = 10
SETTLES_WITHIN = 60
DENIED = "denied"
DATA_ACTIONS = [
    "sqs:changemessagevisibility",
    "sqs:deletemessage",
    "sqs:purgequeue",
    "sqs:receivemessage",
    "sqs:sendmessage",
]


def a_purge_spares_what_is_sent_after_it(deployment: Deployment) -> None:
    """SQS must have purged within a minute, refuse a second purge until then, and keep what is sent later."""
    with deployment.queue() as queue:
        path = f"/v1/queue/{queue['id']}"
        for _ in range(3):
            deployment.done(201, "POST", f"{path}/messages", {"body": "purged"})
        seen = [said(deployment.call("POST", f"{path}/purge")) for _ in range(2)]
        expect(seen, ["202", "409 purge_in_progress"])
        deployment.pause(PURGED_AFTER)
        deployment.done(201, "POST", f"{path}/messages", {"body": "kept"})
        deployment.pause(STAYS_FOR)
        received = deployment.done(200, "GET", f"{path}/messages", max=10, wait=20)["messages"]
    expect([message["body"] for message in received], ["kept"])


def counts_settle_within_a_minute(deployment: Deployment) -> None:
    """SQS counts approximately, and must have the true numbers within a minute of the last change."""
    with deployment.queue() as queue:
        path = f"/v1/queue/{queue['id']}"
        delays = [0] * 8 + [900] * 2
        batch = {"messages": [{"body": "work", "delay_seconds": delay} for delay in delays]}
        deployment.done(200, "POST", f"{path}/messages/batch", batch)
        leased = len(deployment.done(200, "GET", f"{path}/messages", max=3, wait=20, visibility=600)["messages"])
        wanted = {"depth": 8 - leased, "in_flight": leased, "delayed": 2, "dlq_depth": None}
        seen = deployment.eventually(
            lambda: deployment.done(200, "GET", f"{path}/attributes"), lambda seen: seen == wanted, SETTLES_WITHIN
        )
    expect(seen, wanted)


def a_queue_is_in_sqs_what_was_asked_for(deployment: Deployment) -> None:
    """SQS must show the encryption, the tags, the policy and the fifo settings that the queue was made with."""
    sqs = deployment.aws("sqs")
    with deployment.queue(type="fifo", dlq=True, max_receive_count=3) as queue:
        url = _url(deployment, queue)
        attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        tags = sqs.list_queue_tags(QueueUrl=url).get("Tags", {})
    seen = {
        "encrypted": attributes.get("SqsManagedSseEnabled"),
        "dedup": attributes.get("DeduplicationScope"),
        "throughput": attributes.get("FifoThroughputLimit"),
        "largest": attributes["MaximumMessageSize"],
        "receives": str(json.loads(attributes["RedrivePolicy"])["maxReceiveCount"]),
        "denied": {s["Sid"]: sorted(map(str.lower, s["Action"])) for s in _statements(attributes)},
        "denied on": {s["Resource"] for s in _statements(attributes)},
        "tags": {name: tags.get(name) for name in ("stage", "user", "queue", "name")},
        "company": "company" in tags,
    }
    wanted = {
        "encrypted": "true",
        "dedup": "messageGroup",
        "throughput": "perMessageGroupId",
        "largest": "1048576",
        "receives": "3",
        "denied": dict.fromkeys(_denials(deployment), DATA_ACTIONS),
        "denied on": {attributes["QueueArn"]},
        "tags": {
            "stage": deployment.stage,
            "user": queue["user_id"],
            "queue": queue["id"],
            "name": queue["name"],
        },
        "company": True,
    }
    expect({n: s for n, s in seen.items() if s != wanted[n]}, {})


def the_operator_cannot_send_past_the_api(deployment: Deployment) -> None:
    """SQS must hold the queue's policy against the account's own administrator, who may send elsewhere."""
    sqs = deployment.aws("sqs")
    with deployment.native_queue() as url:
        if (seen := _sent(sqs, url)) != "sent":
            raise Skipped(f"these credentials may not send to a queue of their own: {seen}")
    with deployment.queue() as queue:
        url = _url(deployment, queue)
        expect(deployment.eventually(lambda: _sent(sqs, url), _is_denied, SETTLES_WITHIN), DENIED)


def plain_http_is_denied(deployment: Deployment) -> None:
    """SQS must deny over plain HTTP what it allows over HTTPS, by the statement that each queue's policy has.

    Of our own queues the operator would be denied anyway, so the statement is tried on one that admits them.
    """
    if deployment.stage == "local":
        raise Skipped("the queues of stage local may be used over plain HTTP")
    sqs, plain = deployment.aws("sqs"), deployment.session.client("sqs", use_ssl=False, config=PATIENCE)
    if not plain.meta.endpoint_url.startswith("http://"):
        raise Skipped(f"the endpoint is {plain.meta.endpoint_url}")
    with deployment.queue() as queue:
        url = _url(deployment, queue)
        attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy", "QueueArn"])["Attributes"]
    (statement,) = [s for s in _statements(attributes) if s["Sid"] == "OnlyOverTls"]
    with deployment.native_queue() as url:
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement | {"Resource": arn}]})
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
        try:
            over_http = deployment.eventually(lambda: _sent(plain, url), _is_denied, SETTLES_WITHIN)
        except BotoCoreError as fault:
            raise Skipped(f"SQS takes no plain HTTP here: {fault}") from fault
        expect({"http": over_http, "https": _sent(sqs, url)}, {"http": DENIED, "https": "sent"})


def a_standard_queue_takes_group_ids(deployment: Deployment) -> None:
    """SQS must take a group id on a standard queue, for fair queues, and give it back."""
    with deployment.queue() as queue:
        path = f"/v1/queue/{queue['id']}/messages"
        deployment.done(201, "POST", path, {"body": "work", "group_id": "customer-1"})
        received = deployment.done(200, "GET", path, wait=20)["messages"]
    expect([message.get("group_id") for message in received], ["customer-1"])


def _url(deployment: Deployment, queue: dict[str, Any]) -> str:
    """Where the queue is in SQS."""
    user, own = queue["user_id"].replace("-", "")[:24], queue["id"].replace("-", "")
    name = f"nv-{deployment.stage}-{user}-{own}" + (".fifo" if queue["type"] == "fifo" else "")
    return str(deployment.aws("sqs").get_queue_url(QueueName=name)["QueueUrl"])


def _denials(deployment: Deployment) -> list[str]:
    """The statements of each queue's policy."""
    return ["OnlyItsTenant"] if deployment.stage == "local" else ["OnlyItsTenant", "OnlyOverTls"]


def _statements(attributes: dict[str, str]) -> list[dict[str, Any]]:
    statements: list[dict[str, Any]] = json.loads(attributes["Policy"])["Statement"]
    return statements


def _sent(sqs: Any, url: str) -> str:
    """What becomes of a message that somebody sends natively."""
    try:
        sqs.send_message(QueueUrl=url, MessageBody="past the API")
    except ClientError as refusal:
        code = refusal.response["Error"]["Code"]
        return DENIED if code.removesuffix("Exception").endswith("AccessDenied") else code
    return "sent"


def _is_denied(seen: str) -> bool:
    return seen == DENIED


CHECKS: list[Check] = [
    a_purge_spares_what_is_sent_after_it,
    counts_settle_within_a_minute,
    the_operator_cannot_send_past_the_api,
    plain_http_is_denied,
    a_queue_is_in_sqs_what_was_asked_for,
    a_standard_queue_takes_group_ids,
]
