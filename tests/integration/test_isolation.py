"""What is another tenant's can be neither used nor seen nor guessed, by any operation that openapi.json has."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tenancy import table
from tenancy.names import new_id
from tenancy.registry import company_key
from tests.integration.conftest import Answer, Api, Calls, destroy_user, fresh_account, make_cluster, new_company
from tests.integration.lambdas import deploy_ours
from tests.integration.leftovers import operator, services, stored
from tests.integration.test_logs import write
from tests.openapi import JSON, document, resolved

type Ids = dict[str, str]

NEED_NO_KEY = {"GET /health", "GET /openapi.json", "GET /v1/limits"}
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, operations in document()["paths"].items()
    for method, operation in operations.items()
    if f"{method.upper()} {path}" not in NEED_NO_KEY
}

# Where a request may name something of ours (behind a word in its path, in its header, in its body) and what.
HEADER = "X-Naive-User-Id"
PLACES = {
    "users": "user",
    "queue": "queue",
    "compute": "service",
    "keys": "key",
    HEADER: "user",
    "active_tenant_user_id": "user",
    "queue_id": "queue",
    "service_id": "service",
}
IN_A_USER = ("queue", "service")
NO_IDS_OF_OURS = {"external_id", "group_id", "dedup_id", "message_ids"}

HOOK = "http://127.0.0.1:9/canary"

# How a key is refused that names there what is not its own. A sealed one has no business with keys at all.
REFUSALS = {
    "open": dict.fromkeys(PLACES, (404, "not_found")),
    "sealed": {
        "users": (403, "key_subject_mismatch"),
        HEADER: (403, "key_subject_mismatch"),
        "queue": (404, "not_found"),
        "compute": (404, "not_found"),
        "queue_id": (404, "not_found"),
        "service_id": (404, "not_found"),
        "keys": (403, "forbidden"),
        "active_tenant_user_id": (403, "forbidden"),
    },
}


@dataclass
class World:
    """Two companies; by whose it is, a user, queue, service and key that are not for one certain user of the first."""

    api: Api
    stranger: Api
    foreign: dict[str, Ids]
    siblings: dict[str, Ids]

    def __post_init__(self) -> None:
        # The company's own record changes with what its users rightly do.
        own = company_key(self.api.company)
        self._items = [key for item in stored() if (key := (item["pk"]["S"], item["sk"]["S"])) != own]
        self._queues = operator("sqs").list_queues(QueueNamePrefix="nv-")["QueueUrls"]
        self._services = services()
        self.at_first = self.state()

    def state(self) -> list[Any]:
        """What there was in the registry at first as it is now, how many messages are in which state, and the tasks."""
        asked: Any = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        sqs = operator("sqs")
        counts = [sqs.get_queue_attributes(QueueUrl=url, AttributeNames=asked)["Attributes"] for url in self._queues]
        return [table.read(self._items), counts, [tasks(name) for name in self._services]]

    def others(self, own: Ids) -> dict[str, Ids]:
        """By whose it is or what is wrong with it, what nobody may name as `own`'s."""
        return self.foreign | {
            "nobody's": {what: new_id() for what in own},
            "the own in capitals": {what: name.upper() for what, name in own.items()},
            "no id": dict.fromkeys(own, "x"),
            "no key of a table": dict.fromkeys(own, "x" * 3000),
        }

    @property
    def canaries(self) -> set[str]:
        """What no answer to anybody else may hold: ids, and what all names and texts begin with."""
        ids = (name for group in (self.foreign | self.siblings).values() for name in group.values())
        return {"canary", self.stranger.company, *ids}


@pytest.fixture(autouse=True)
def aws() -> None:
    """All cases share one world's account: what is refused changes nothing."""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with fresh_account():
        make_cluster()
        deploy_ours()
        yield new_world()


def tasks(name: str) -> Any:
    """How many tasks a service should have, and whether it is still there."""
    (found,) = operator("ecs").describe_services(cluster="workers", services=[name])["services"]
    return found["desiredCount"], found["status"]


def new_world() -> World:
    api, stranger = new_company("acme"), new_company("canary-company")
    deleted, destroyed = furnished(api), furnished(api)
    for gone in deleted, destroyed:
        assert api("DELETE", f"/v1/auth/keys/{gone['key']}").status == 204
        assert api("DELETE", f"/v1/users/{gone['user']}", force="true").status == 204
    destroy_user(destroyed["user"])
    return World(
        api,
        stranger,
        foreign={
            "a stranger's": furnished(stranger),
            "a strange default user's": furnished(stranger, stranger.user),
            "a deleted one's": deleted,
            "a destroyed one's": destroyed,
        },
        siblings={"a sibling's": furnished(api), "the default user's": furnished(api, api.user)},
    )


def furnished(company: Api, user: str | None = None) -> Ids:
    """A user (a new one if none is given), a queue with a message, a service that has written a line, and a key."""
    said = {name: f"canary-{new_id()}" for name in ("external_id", "label")}
    user = user or company.new_user(email="canary@example.com", **said)
    client = company.new_key(user, name="canary-key")
    queue = client.queue(f"canary-{new_id()}", dlq=True)
    client.send(queue, "canary-body")
    client.consumer(queue, type="webhook", url=HOOK, max_concurrency=2)
    service = client.service(f"canary-{new_id()}", image="canary/image")
    write(service, "canary-line")
    key = company("POST", "/v1/auth/keys", {"name": "canary-key", "active_tenant_user_id": user}).json["key_id"]
    return {"user": user, "queue": queue, "service": service, "key": key}


def places_of(route: str) -> list[str]:
    """Where a request of the route names something."""
    named = re.findall(r"(\w+)/\{\w+\}", route)
    assert len(named) == route.count("{")
    if any(parameter["name"] == HEADER for parameter in map(resolved, OPERATIONS[route].get("parameters", []))):
        named.append(HEADER)
    named += [field for field in fields_of(route) if field.endswith(("_id", "_ids")) and field not in NO_IDS_OF_OURS]
    assert named, "nothing of it is tried with another tenant's"
    assert set(named) <= PLACES.keys(), "say what is named there, and how another tenant's is refused"
    return named


def fields_of(route: str) -> list[str]:
    """The fields that the body of a request may have, those in lists of objects too."""
    if "requestBody" not in OPERATIONS[route]:
        return []
    schema = resolved(OPERATIONS[route]["requestBody"]["content"][JSON]["schema"])
    parts = [resolved(part.get("items", part)) for part in schema["properties"].values()]
    return [*schema["properties"], *(field for part in parts for field in part.get("properties", {}))]


def ask(client: Api, route: str, named: dict[str, str]) -> Answer:
    """The document's own example of a request of the route, but for what is named."""
    operation = OPERATIONS[route]
    method, path = route.split()
    body: Any = None
    if "requestBody" in operation:
        example = operation["requestBody"]["content"][JSON]["example"]
        if "service_id" in named:
            example = {"type": "service", "service_id": ""}  # Of a consumer's types, the one that names something.
        body = example | {field: named[field] for field in example if field in named}
    query = {
        parameter["name"]: parameter["example"]
        for parameter in map(resolved, operation.get("parameters", []))
        if parameter["in"] == "query" and parameter.get("required")
    }
    path = re.sub(r"(\w+)/\{\w+\}", lambda match: f"{match[1]}/{named[match[1]]}", path)
    headers = {HEADER.lower(): named[HEADER]} if HEADER in named else {}
    return client(method, path, body, headers=headers, **query)


@pytest.mark.parametrize("key", ["open", "sealed"])
@pytest.mark.parametrize("route", OPERATIONS)
def test_what_is_not_yours_is_refused_as_what_is_not_there(
    world: World, calls: Calls, route: str, key: str, subtests: pytest.Subtests
) -> None:
    own = furnished_own(world.api, worked=route.endswith("/consumer") and not route.startswith("POST"))
    client = world.api.new_key(own["user"] if key == "sealed" else None)
    mine = {place: own[PLACES[place]] for place in places_of(route)}
    for place in mine:
        with subtests.test(place=place):
            others = world.others(own)
            if PLACES[place] in IN_A_USER:
                others |= {"a deleted one": own | {PLACES[place]: own[f"deleted {PLACES[place]}"]}}
            if key == "sealed" or PLACES[place] in IN_A_USER:  # else a company's key may name them
                others |= world.siblings
            seen: dict[tuple[Any, ...], list[str]] = {}
            for whose, ids in others.items():
                named = mine | {place: ids[PLACES[place]]}
                seen.setdefault(outcome(client, calls, route, named, world.canaries), []).append(whose)
                if PLACES[place] == "user" and (theirs := [other for other in mine if PLACES[other] in IN_A_USER]):
                    named |= {other: ids[PLACES[other]] for other in theirs}
                    seen.setdefault(outcome(client, calls, route, named, world.canaries), []).append(whose)
            assert len(seen) == 1, seen
            assert next(iter(seen))[:2] == REFUSALS[key][place]
    assert world.state() == world.at_first
    if key == "open":
        assert ask(client, route, mine).status not in (401, 403, 404), "these are no requests that would be served"


def furnished_own(company: Api, *, worked: bool) -> Ids:
    """What the caller has. Its names are those of nobody else, and none is a canary."""
    user = company.new_user()
    client = company.new_key(user)
    queue = client.queue("own", dlq=True)
    client.send(queue)
    queue_before, service_before = client.queue("deleted"), client.service("deleted")
    assert client("DELETE", f"/v1/queue/{queue_before}").status == 204
    assert client("DELETE", f"/v1/compute/{service_before}").status == 204
    if worked:
        client.consumer(queue, type="webhook", url=HOOK, max_concurrency=2)
    service = client.service("own")
    key = company("POST", "/v1/auth/keys", {"name": "own"}).json["key_id"]
    deleted = {"deleted queue": queue_before, "deleted service": service_before}
    return {"user": user, "queue": queue, "service": service, "key": key, **deleted}


def outcome(client: Api, calls: Calls, route: str, named: Ids, canaries: set[str]) -> tuple[Any, ...]:
    """All that a caller could tell one refusal from another by: status, code, text, headers and the work done."""
    before = len(calls.made)
    answer = ask(client, route, named)
    request_id = answer.headers["X-Request-Id"]
    text, headers = (part.replace(request_id, "") for part in (answer.text, repr(sorted(answer.headers.items()))))
    assert [canary for canary in canaries.union(named.values()) if len(canary) > 1 and canary in text + headers] == []
    return answer.status, answer.code, text, headers, *((name, size(asked)) for name, asked in calls.made[before:])


def size(asked: Any) -> int:
    """How much is asked for by the arguments of an AWS call, whatever it is."""
    if isinstance(asked, dict | list | tuple):
        return sum(map(size, asked.values() if isinstance(asked, dict) else asked))
    return 1


@pytest.mark.parametrize("route", OPERATIONS)
def test_every_operation_is_tried_in_every_place(route: str) -> None:
    assert set(places_of(route)) & {"users", HEADER}


def test_an_operation_that_needs_no_key_says_so() -> None:
    assert {route for route, operation in OPERATIONS.items() if operation.get("security") == []} == set()
