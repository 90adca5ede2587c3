"""Users and keys on the deployed stack, over HTTP: how they live, how soon a change is seen, and how a user ends."""

import concurrent.futures
import importlib
import json
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.e2e.conftest import Api, client, unique
from tests.e2e.deployed import invoked, operator, output, records
from tests.template import match, routes

LOGS = "/naive/local/functions"
SEEN_EVERYWHERE_SECONDS = 5
AT_ONCE = {
    *("get_queue", "list_queues", "update_queue", "delete_queue", "purge_queue", "purge_dlq"),
    *("get_consumer", "create_consumer", "update_consumer", "delete_consumer"),
    *("get_compute", "list_compute", "create_compute", "delete_compute"),
    *("start_compute", "stop_compute", "scale_compute"),
    *("get_user", "list_users", "update_user", "delete_user", "list_keys", "delete_key"),
}
"""What reads its caller's key anew each time."""
MANAGEMENT = ("/v1/users", "/v1/users/{user_id}", "/v1/auth/keys", "/v1/auth/keys/{key_id}")
KINDS: list[dict[str, Any]] = [{}, {}, {}, {"dlq": True}, {"type": "fifo"}, {"type": "fifo", "dlq": True}]
NUMBER = 300

pool = concurrent.futures.ThreadPoolExecutor(8)


@pytest.fixture(scope="module")
def made() -> Any:
    """A new company, as bootstrap tells of it."""
    return invoked("bootstrap", company=unique())


@pytest.fixture(scope="module")
def company(made: Any) -> Iterator[Api]:
    """The client of that company."""
    with client(made["api_key"]) as http:
        yield Api(http)


@contextmanager
def holding_a_key(company: Api, user: str | None = None) -> Iterator[tuple[Api, str]]:
    """The client of somebody with another key of the company, and the key's id."""
    answer = company("POST", "/v1/auth/keys", {"name": unique(), "active_tenant_user_id": user})
    assert answer.status_code == 201, answer.text
    with client(answer.json()["api_key"]) as http:
        yield Api(http), answer.json()["key_id"]


def new_user(company: Api, **details: str) -> Any:
    answer = company("POST", "/v1/users", details)
    assert answer.status_code == 201, answer.text
    return answer.json()


def with_key() -> list[tuple[str, str, str]]:
    """Method, path and function of every route that wants a key, the two of one function not next to each other."""
    found = []
    for (method, path), folder in routes().items():
        if path != "*" and not importlib.import_module(f"functions.{folder}.app").handler.operation.public:
            found.append((method, path, folder))
    return sorted(found, key=lambda route: route[1])


def error(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_a_company_is_made_once_and_may_have_more_keys(made: Any) -> None:
    name = unique()
    first = invoked("bootstrap", company=name)
    with pytest.raises(RuntimeError, match="new_key"):
        invoked("bootstrap", company=name)
    second = invoked("bootstrap", company=name, new_key=True)
    assert second | {"key_id": "", "api_key": ""} == first | {"key_id": "", "api_key": ""}
    assert second["api_key"] != first["api_key"]
    assert first["company_id"] != made["company_id"]


def test_a_user_lives_from_create_to_delete(company: Api) -> None:
    own_id = unique()
    user = new_user(company, external_id=own_id, email="ada@example.com")
    assert user == {
        "id": user["id"],
        "external_id": own_id,
        "email": "ada@example.com",
        "label": None,
        "status": "active",
        "is_default": False,
        "created_at": user["created_at"],
    }
    path = f"/v1/users/{user['id']}"
    taken = company("POST", "/v1/users", {"external_id": own_id})
    assert error(taken) == (409, "already_exists")
    assert taken.json()["error"]["details"] == {"id": user["id"]}
    changed = company("PATCH", path, {"label": "Ada"}).json()
    assert changed == user | {"label": "Ada"}
    assert company("GET", path).json() == changed
    assert changed in company("GET", "/v1/users").json()["users"]

    assert company("POST", f"{path}/queue", {"name": unique()}).status_code == 201
    refused = company("DELETE", path)
    assert error(refused) == (409, "conflict")
    assert refused.json()["error"]["details"] == {"reason": "user_has_resources"}
    assert company("DELETE", path, force="true").status_code == 204
    assert error(company("GET", path)) == (404, "not_found")
    assert changed not in company("GET", "/v1/users").json()["users"]
    assert new_user(company, external_id=own_id)["id"] != user["id"]


def test_the_default_user_stays(company: Api, made: Any) -> None:
    default = company("GET", "/v1/users/default").json()
    assert (default["id"], default["is_default"]) == (made["user_id"], True)
    refused = company("DELETE", f"/v1/users/{default['id']}", force="true")
    assert error(refused) == (409, "conflict")
    assert refused.json()["error"]["details"] == {"reason": "default_user"}


def test_a_key_lives_from_create_to_revoke(company: Api) -> None:
    name, headers = unique(), {"Idempotency-Key": unique()}
    key = company("POST", "/v1/auth/keys", {"name": name}, headers=headers).json()
    secret = key["api_key"]
    assert key == {
        "api_key": secret,
        "key_id": key["key_id"],
        "name": name,
        "last_4": secret[-4:],
        "active_tenant_user_id": None,
        "created_at": key["created_at"],
    }
    again = company("POST", "/v1/auth/keys", {"name": name}, headers=headers)
    assert (again.status_code, again.json()) == (201, key | {"api_key": None})

    del key["api_key"]
    assert listed_key(company, key["key_id"]) == key | {"last_used_at": None, "revoked": False}
    with client(secret) as http:
        assert Api(http)("GET", "/v1/queue").status_code == 200
        until = time.monotonic() + 10
        while (used := listed_key(company, key["key_id"])["last_used_at"]) is None:
            assert time.monotonic() < until, "the key's use was not noted"
            time.sleep(0.5)
        assert used == time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime())
        assert company("DELETE", f"/v1/auth/keys/{key['key_id']}").status_code == 204
        assert error(Api(http)("GET", "/v1/queue")) == (401, "unauthorized")
    assert listed_key(company, key["key_id"])["revoked"] is True
    assert error(company("DELETE", f"/v1/auth/keys/{key['key_id']}")) == (404, "not_found")


def listed_key(company: Api, key_id: str) -> Any:
    (found,) = [key for key in company("GET", "/v1/auth/keys", limit=100).json()["keys"] if key["key_id"] == key_id]
    return found


def test_a_revoked_key_is_refused_everywhere_within_5_s(company: Api, made: Any) -> None:
    ids = things_of(company, made)
    with holding_a_key(company) as (holder, key_id):
        statuses = asking_everything(holder, ids)
        statuses()
        time.sleep(SEEN_EVERYWHERE_SECONDS)
        # Now each function is warm, and remembers the key as late as can be.
        assert {status for _, status in statuses()} == {400}
        assert company("DELETE", f"/v1/auth/keys/{key_id}").status_code == 204
        revoked = time.monotonic()
        assert {status for folder, status in statuses() if folder in AT_ONCE} == {401}
        time.sleep(max(0.0, revoked + SEEN_EVERYWHERE_SECONDS - time.monotonic()))
        later = statuses()
    assert {folder for folder, _ in later} > AT_ONCE
    assert [folder for folder, status in later if status != 401] == []


def things_of(company: Api, made: Any) -> dict[str, str]:
    """One thing of each kind that a path can name."""
    return {
        "user_id": made["user_id"],
        "id": company.queue(),
        "service_id": company.service(),
        "key_id": made["key_id"],
    }


def asking_everything(api: Api, ids: dict[str, str]) -> Callable[[], list[tuple[str, int]]]:
    """Asks every route for something that it refuses, though only whoever has a key: function and status of each."""

    def ask(route: tuple[str, str, str]) -> tuple[str, int]:
        method, path, folder = route
        return folder, api(method, path.format(**ids), unknown="x").status_code

    return lambda: list(pool.map(ask, with_key()))


def test_a_sealed_key_manages_nothing_and_stays_with_its_user(company: Api, made: Any) -> None:
    user = new_user(company)
    foreign = things_of(company, made)
    with holding_a_key(company, user["id"]) as (holder, _):
        own = {"id": holder.queue(), "service_id": holder.service()}
        assert company("GET", f"/v1/users/{user['id']}/queue/{own['id']}").status_code == 200
        for path in ("/v1/users/me", f"/v1/users/{user['id']}"):
            assert holder("GET", path).json() == user

        def refusals(method: str, path: str, folder: str) -> Iterator[tuple[str, tuple[int, str]]]:
            mine = path.format(**{**foreign, "user_id": user["id"]})
            away = {"X-Naive-User-Id": made["user_id"]}
            yield "key_subject_mismatch", error(holder(method, path.format(**foreign | own), headers=away))
            if "{user_id}" in path:
                yield "key_subject_mismatch", error(holder(method, path.format(**foreign | own)))
            if "{id}" in path or "{service_id}" in path:
                yield "not_found", error(holder(method, mine))
            if path in MANAGEMENT and folder != "get_user":
                yield "forbidden", error(holder(method, mine))

        answers = [found for each in pool.map(lambda route: list(refusals(*route)), with_key()) for found in each]
    assert {asked: {answer for what, answer in answers if what == asked} for asked, _ in answers} == {
        "key_subject_mismatch": {(403, "key_subject_mismatch")},
        "not_found": {(404, "not_found")},
        "forbidden": {(403, "forbidden")},
    }


def test_a_deleted_user_is_gone_within_5_s_and_destroyed_whoever_dies_on_the_way(company: Api) -> None:
    user = new_user(company)["id"]
    path = f"/v1/users/{user}"
    iam, role = operator("iam"), {"RoleName": f"task-{user}"}
    with holding_a_key(company, user) as (holder, key_id):
        holder.service()
        assert iam.get_role(**role)["Role"]["Path"] == "/naive/local/"
        queues = list(pool.map(lambda number: holder.queue(**KINDS[number % len(KINDS)]), range(NUMBER)))
        made = sqs_queues(user)
        assert len(made) == NUMBER + NUMBER // len(KINDS) * 2
        holder.receive(queues[0], wait=0)
        assert company("GET", f"{path}/queue/{queues[0]}/messages", wait=0).status_code == 200

        with a_destroyer_that_can_be_killed() as kill:
            assert company("DELETE", path, force="true").status_code == 204
            deleted = time.monotonic()
            until(lambda: len(sqs_queues(user)) < len(made) - 50)
            kill()
            left = sqs_queues(user)
            assert error(company("GET", path)) == (404, "not_found")
            assert error(company("GET", f"{path}/queue")) == (404, "not_found")
            assert error(company("POST", f"{path}/queue", {"name": unique()})) == (404, "not_found")
            time.sleep(max(0.0, deleted + SEEN_EVERYWHERE_SECONDS - time.monotonic()))
            assert error(holder("GET", f"/v1/queue/{queues[0]}/messages", wait=0)) == (401, "unauthorized")
            assert error(company("GET", f"{path}/queue/{queues[0]}/messages", wait=0)) == (404, "not_found")
            assert sqs_queues(user) == left != [], "it was not killed on the way"
            until(lambda: reconciled(user), seconds=90)

    assert sqs_queues(user) == []
    assert [record for record in records("Registry") if user in repr(record)] == []
    assert [record for record in records("Usage") if key_id in repr(record)] == []
    with pytest.raises(iam.exceptions.NoSuchEntityException):
        iam.get_role(**role)


@contextmanager
def a_destroyer_that_can_be_killed() -> Iterator[Callable[[], None]]:
    """Ends the function that destroys users where it is, and Lambda does not start it again as it else would, twice."""
    functions, which = operator("lambda"), {"FunctionName": "naive-local-destroy_user"}
    seconds = functions.get_function_configuration(**which)["Timeout"]
    functions.put_function_event_invoke_config(**which, MaximumRetryAttempts=0)
    try:
        # The emulator kills what runs with another configuration.
        yield lambda: functions.update_function_configuration(**which, Timeout=seconds - 1)
    finally:
        functions.update_function_configuration(**which, Timeout=seconds)
        functions.delete_function_event_invoke_config(**which)


def reconciled(user: str) -> bool:
    """Lets the reconciler take up what is left of a user, as if its time had come; whether that was the last of it."""
    left = [record for record in records("Registry") if user in repr(record)]
    for record in left:
        if "due_at" in record:
            operator("dynamodb").update_item(
                TableName=output("RegistryTableName"),
                Key={"pk": record["pk"], "sk": record["sk"]},
                UpdateExpression="SET due_at = :now",
                ConditionExpression="attribute_exists(pk)",
                ExpressionAttributeValues={":now": {"N": str(int(time.time()))}},
            )
    if left:
        invoked("reconcile")
    return not left


def sqs_queues(user: str) -> list[str]:
    """The URLs of what a user has in SQS."""
    prefix = f"nv-local-{uuid.UUID(user).hex[:24]}-"
    urls: list[str] = operator("sqs").list_queues(QueueNamePrefix=prefix, MaxResults=1000).get("QueueUrls", [])
    return urls


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.1)


def test_every_change_leaves_one_line_that_says_who_did_what(company: Api, made: Any) -> None:
    lines: dict[str, Any] = {}

    def change(method: str, path: str, body: Any = None, *, refused: str | None = None, **query: Any) -> Any:
        answer = company(method, path, body, **query)
        what = answer.json() if answer.content else {}
        assert what.get("error", {}).get("code") == refused, answer.text
        folder, _, named = match(method, path)
        ids = [
            found[name]
            for found in (what, named)
            for name in ("key_id", "service_id", "id", "user_id")
            if name in found
        ]
        lines[answer.headers["X-Request-Id"]] = {
            "company": made["company_id"],
            "user": named.get("user_id") or made["user_id"],
            "key_id": made["key_id"],
            "operation": folder,
            "resource": ids[0],
            "outcome": refused or "done",
        }
        return what

    user = change("POST", "/v1/users", {})["id"]
    change("PATCH", f"/v1/users/{user}", {"label": "Ada"})
    queue = change("POST", f"/v1/users/{user}/queue", {"name": unique(), "dlq": True})["id"]
    path = f"/v1/users/{user}/queue/{queue}"
    change("PATCH", path, {"visibility_timeout": 60})
    change("POST", f"{path}/purge")
    change("POST", f"{path}/purge", refused="purge_in_progress")
    change("POST", f"{path}/dlq/purge")
    change("POST", f"{path}/redrive")
    webhook = {"type": "webhook", "url": "http://127.0.0.1:9/", "max_concurrency": 2}
    change("POST", f"{path}/consumer", webhook)
    change("POST", f"{path}/consumer", webhook, refused="conflict")
    change("PATCH", f"{path}/consumer", {"paused": True})
    change("DELETE", f"{path}/consumer")
    change("DELETE", path)
    new = {"name": unique(), "type": "service", "image": "me/worker"}
    service = f"/v1/users/{user}/compute/" + change("POST", f"/v1/users/{user}/compute", new)["id"]
    change("POST", f"{service}/start")
    change("POST", f"{service}/scale", {"count": 0})
    change("POST", f"{service}/stop")
    change("DELETE", service)
    key = change("POST", "/v1/auth/keys", {"name": unique(), "active_tenant_user_id": user})["key_id"]
    change("DELETE", f"/v1/auth/keys/{key}")
    change("DELETE", f"/v1/auth/keys/{key}", refused="not_found")
    change("DELETE", f"/v1/users/{user}")
    for request_id, expected in lines.items():
        assert audited(request_id) == [expected]
    assert {line["operation"] for line in lines.values()} == {
        folder for method, path, folder in with_key() if method != "GET" and "/messages" not in path
    }, "a change is left out"


def audited(request_id: str) -> list[Any]:
    """What the log says of the changes that a request made."""
    found = operator("logs").filter_log_events(logGroupName=LOGS, filterPattern=f'"{request_id}"')
    lines = [json.loads(event["message"]) for event in found["events"] if event["message"].startswith("{")]
    fields = ("company", "user", "key_id", "operation", "resource", "outcome")
    return [{field: line.get(field) for field in fields} for line in lines if line.get("audit")]
