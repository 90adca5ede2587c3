"""Services are made, listed, shown, started, stopped, scaled and destroyed."""

import json
import time
from typing import Any

import pytest

from tenancy import fleet, services, table
from tenancy.errors import NotFound
from tenancy.names import new_id
from tests.integration.conftest import Answer, Api, Calls, aws_fault
from tests.integration.leftovers import counted, operator, parameters, roles, stored, task_definitions
from tests.integration.leftovers import services as in_ecs

pytestmark = pytest.mark.usefixtures("cluster")

NEW = {"name": "worker", "type": "service", "image": "me/worker:latest"}


def create(api: Api, **settings: Any) -> Answer:
    return api("POST", "/v1/compute", NEW | settings)


def ecs_service() -> Any:
    (name,) = in_ecs()
    (found,) = operator("ecs").describe_services(cluster="workers", services=[name], include=["TAGS"])["services"]
    return found


def definition() -> Any:
    arn = ecs_service()["taskDefinition"]
    return operator("ecs").describe_task_definition(taskDefinition=arn, include=["TAGS"])


def container() -> Any:
    (found,) = definition()["taskDefinition"]["containerDefinitions"]
    return found


def environment() -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in container()["environment"]}


def api_key() -> str:
    """What ECS puts into the environment of a task as its key."""
    (name,) = parameters()
    parameter = operator("ssm").get_parameter(Name=name, WithDecryption=True)["Parameter"]
    assert parameter["Type"] == "SecureString"
    return str(parameter["Value"])


def keys(api: Api) -> list[Any]:
    found = api("GET", "/v1/auth/keys").json["keys"]
    return [key for key in found if key["name"].startswith("service:")]


def test_a_service_has_the_contracts_defaults_and_starts_at_once(api: Api) -> None:
    answer = create(api)
    assert answer.status == 201
    service = answer.json
    assert service == {
        "id": service["id"],
        "name": "worker",
        "type": "service",
        "image": "me/worker:latest",
        "command": [],
        "cpu": 256,
        "memory": 512,
        "queue_id": None,
        "desired": 1,
        "running": 0,
        "status": "starting",
        "last_scaled_at": service["created_at"].split(".")[0] + ".000Z",
        "last_scale_reason": "created",
        "created_at": service["created_at"],
    }
    assert api("GET", f"/v1/compute/{service['id']}").json == service
    assert api("GET", "/v1/compute").json == {"services": [service], "next_cursor": None}


def test_one_with_a_queue_becomes_its_consumer_and_waits_for_its_messages(api: Api) -> None:
    queue = api.queue()
    service = create(api, queue_id=queue).json
    assert (service["queue_id"], service["desired"], service["status"]) == (queue, 0, "stopped")
    assert service["last_scale_reason"] == "a queue's consumer"
    place = ("QUEUE#" + queue, "QUEUE")
    consumer = table.read([place])[place]["consumer"]
    assert (consumer["type"], consumer["service_id"], consumer["paused"]) == ("service", service["id"], False)
    assert environment()["NAIVE_QUEUE_ID"] == queue
    assert api("GET", f"/v1/compute/{service['id']}").json == service


def test_what_ecs_is_told_of_a_service(api: Api) -> None:
    service = create(api, command=["python", "-m", "worker"], cpu=1024, memory=3072, env={"A": "1", "B": ""}).json
    made, of_task = ecs_service(), definition()
    name = f"nv-test-{api.user.replace('-', '')[:24]}-{service['id'].replace('-', '')}"
    assert (made["serviceName"], of_task["taskDefinition"]["family"]) == (name, name)
    assert (made["desiredCount"], made["launchType"], made["propagateTags"]) == (1, "FARGATE", "SERVICE")
    tags = {"stage": "test", "company": api.company, "user": api.user, "service": service["id"]}
    for tagged in made["tags"], of_task["tags"]:
        assert {tag["key"]: tag["value"] for tag in tagged} == tags
    task = of_task["taskDefinition"]
    assert task["requiresCompatibilities"] == ["FARGATE"]
    assert (task["networkMode"], task["cpu"], task["memory"]) == ("awsvpc", "1024", "3072")
    assert task["taskRoleArn"] == f"arn:aws:iam::123456789012:role/naive/test/task-{api.user}"
    assert task["executionRoleArn"] == fleet.EXECUTION_ROLE
    runs = container()
    assert (runs["image"], runs["command"]) == ("me/worker:latest", ["python", "-m", "worker"])
    assert runs["stopTimeout"] == 120
    assert environment() == {"A": "1", "B": ""}
    path = "arn:aws:ssm:us-east-1:123456789012:parameter/naive/test/services"
    assert {secret["name"]: secret["valueFrom"] for secret in runs["secrets"]} == {
        "NAIVE_API_KEY": f"{path}/{service['id']}/key",
        "NAIVE_BASE_URL": f"{path}/base-url",
    }
    assert runs["logConfiguration"] == {
        "logDriver": "awslogs",
        "options": {
            "awslogs-group": "/naive/test/services",
            "awslogs-region": "us-east-1",
            "awslogs-stream-prefix": service["id"],
        },
    }


def test_nobody_can_enter_a_task_and_no_worker_is_moved_or_tried_for_ever(api: Api, calls: Calls) -> None:
    create(api)
    (made,) = calls.arguments("CreateService")
    assert made["enableExecuteCommand"] is False
    assert made["availabilityZoneRebalancing"] == "DISABLED"
    assert made["deploymentConfiguration"]["deploymentCircuitBreaker"] == {"enable": True, "rollback": False}
    assert made["networkConfiguration"]["awsvpcConfiguration"] == fleet.NETWORK


def test_its_key_is_sealed_to_its_user_and_is_nowhere_but_with_ecs(
    api: Api, calls: Calls, capsys: pytest.CaptureFixture[str]
) -> None:
    user = api.new_user()
    answer = create(api.new_key(user), env={"A": "1"})
    key = api_key()
    listed, *others = keys(api)
    assert others == []
    assert (listed["name"], listed["active_tenant_user_id"]) == ("service:worker", user)
    worker = Api(api.company, user, key)
    assert worker("GET", "/v1/users/me").json["id"] == user
    assert worker("GET", f"/v1/users/{api.user}/queue").code == "key_subject_mismatch"
    service = f"/v1/users/{user}/compute/{answer.json['id']}"
    asked = [("GET", ""), ("POST", "/stop"), ("POST", "/start"), ("GET", "/logs")]
    answers = [answer, *(api(method, service + path) for method, path in asked)]
    assert {answer.status for answer in answers} == {200, 201}
    seen = [answer.text + repr(answer.headers) for answer in answers]
    seen += [repr(stored()), json.dumps(definition(), default=str), capsys.readouterr().out]
    assert key not in "".join(seen)
    assert [name for name, asked in calls.made if key in repr(asked)] == ["PutParameter"]


def test_a_null_is_the_same_as_leaving_the_field_out(api: Api) -> None:
    answer = create(api, command=None, cpu=None, memory=None, env=None, queue_id=None)
    assert (answer.status, answer.json["cpu"], answer.json["command"]) == (201, 256, [])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"name": None}, "name is required: a string of 1 to 64 characters"),
        ({"name": "a b"}, "name must be a string of 1 to 64 characters"),
        ({"type": None}, "type is required: service"),
        ({"type": "daemon"}, "type must be service"),
        ({"type": 1}, "type must be service, not 1"),
        ({"image": None}, "image is required: the name of a container image"),
        ({"image": ""}, "image must be the name of a container image, as in me/worker:latest"),
        ({"image": "me/worker:"}, "image must be the name of a container image"),
        ({"image": 7}, "image must be the name of a container image, as in me/worker:latest, not 7"),
        ({"command": "run"}, "command must be a list of 0 to 100"),
        ({"command": ["x"] * 101}, "command must be a list of 0 to 100"),
        ({"command": ["a", 1]}, "command.1 must be a string of at most 4096 characters, not 1"),
        ({"command": ["x" * 4097]}, "command.0 must be a string of at most 4096 characters"),
        ({"command": ["a\0b"]}, "command must not have NUL characters"),
        ({"command": ["\ud800"]}, "halves of surrogate pairs"),
        ({"cpu": 300}, "cpu must be one of 256, 512, 1024, 2048, 4096, 8192, 16384, not 300"),
        ({"cpu": "256"}, "cpu must be one of 256, 512"),
        ({"memory": 511}, "memory must be a whole number from 512 to 122880, not 511"),
        ({"memory": 4096}, "with cpu 256, memory must be one of 512, 1024, 2048, not 4096"),
        ({"cpu": 512, "memory": 512}, "with cpu 512, memory must be one of 1024, 2048, 3072, 4096, not 512"),
        ({"env": []}, "env must be an object of at most 100 pairs"),
        ({"env": {"1A": "x"}}, "env: the name '1A' must be 1 to 128 letters, digits and _"),
        ({"env": {"": "x"}}, "env: the name '' must be"),
        ({"env": {"A=B": "x"}}, "env: the name 'A=B' must be"),
        ({"env": {"\ud800": "x"}}, "env: the name"),
        ({"env": {"NAIVE_API_KEY": "x"}}, "env: the name NAIVE_API_KEY is the service's own"),
        ({"env": {"A": 1}}, "env: A must be a string of at most 4096 characters"),
        ({"env": {"A": None}}, "env: A must be a string"),
        ({"env": {"A": "x" * 4097}}, "env: A must be a string of at most 4096 characters"),
        ({"env": {"A": "\0"}}, "env: A must be a string of at most 4096 characters, none of them NUL"),
        ({"env": {f"A{n}": "" for n in range(101)}}, "env must be an object of at most 100 pairs"),
        ({"env": {f"A{n}": "x" * 4096 for n in range(12)}}, "command and env must be at most 49152 bytes as JSON"),
        ({"queue_id": 1}, "queue_id must be the id of a queue of the user, not 1"),
        ({"colour": "red"}, "unknown field 'colour'; known: name, type, image, command, cpu, memory, env, queue_id"),
    ],
)
def test_bad_settings_are_refused_by_field_and_rule(api: Api, settings: Any, says: str) -> None:
    answer = create(api, **settings)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert says in answer.json["error"]["message"]
    assert stored_services() == []


def stored_services() -> list[Any]:
    return [item for item in stored() if "SERVICE" in item["pk"]["S"] + item["sk"]["S"]]


@pytest.mark.parametrize("kind", ["job", "schedule"])
def test_what_is_no_service_gets_a_hint(api: Api, kind: str) -> None:
    error = create(api, type=kind).json["error"]
    assert (error["code"], error["message"]) == ("invalid_input", f"type must be service, not {kind}")
    assert "queue_id" in error["hint"]


def test_a_private_image_of_another_company_cannot_be_pulled(api: Api, stranger: Api) -> None:
    registry = "123456789012.dkr.ecr.us-east-1.amazonaws.com"
    for host in registry, f"{registry}:443", registry.replace("ecr.", "ecr-fips."):
        refused = create(api, image=f"{host}/naive/test/{stranger.company}/worker")
        assert (refused.status, refused.json["error"]["details"]) == (400, {"field": "image"})
        assert create(api, image=f"{host}/worker").status == 400
    assert create(api, image=f"{registry}/naive/test/{api.company}/worker:2").status == 201


@pytest.mark.parametrize("missing", ["ECS_CLUSTER", "subnets", "securityGroups"])
def test_where_no_services_run_the_operator_is_told_what_is_missing(
    api: Api, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    if missing == "ECS_CLUSTER":
        monkeypatch.setattr(fleet, "ECS_CLUSTER", "")
    else:
        monkeypatch.setitem(fleet.NETWORK, missing, [""])
    error = create(api).json["error"]
    assert (error["code"], error["message"]) == ("invalid_input", "this deployment runs no compute services")
    assert "EcsCluster, SubnetIds and SecurityGroupIds" in error["hint"]
    assert stored_services() == []


def test_names_are_unique_per_user_and_free_again(api: Api, stranger: Api) -> None:
    service = api.service()
    again = create(api)
    assert (again.status, again.code, again.json["error"]["details"]) == (409, "already_exists", {"id": service})
    assert api.queue("worker")
    assert stranger.service() != service
    assert api("DELETE", f"/v1/compute/{service}").status == 204
    assert api.service() != service


def test_a_user_has_so_many_services_and_no_more(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "SERVICES_PER_USER", 2)
    first, _ = api.service("a"), api.service("b")
    refused = create(api, name="c")
    assert (refused.status, refused.code, refused.headers["X-RateLimit-Limit"]) == (429, "rate_limited", "2")
    assert create(api, name="a").code == "already_exists"
    assert api("DELETE", f"/v1/compute/{first}").status == 204
    assert create(api, name="c").status == 201
    assert counted(api.user, "service") == (2, 2)


def test_a_queue_must_be_the_users_and_have_no_consumer(api: Api, stranger: Api) -> None:
    queue, other = api.queue(), api.new_key(api.new_user())
    for unknown in stranger.queue(), other.queue(), new_id(), "x", "x" * 3000, queue.upper():
        assert create(api, queue_id=unknown).code == "not_found"
    assert create(api, queue_id=queue).status == 201
    taken = create(api, name="second", queue_id=queue)
    assert (taken.status, taken.json["error"]["details"]) == (409, {"reason": "consumer_exists"})
    assert len(in_ecs()) == 1


def test_when_the_queue_gets_a_consumer_meanwhile_nothing_is_left_of_the_service(api: Api, calls: Calls) -> None:
    queue = api.queue()
    calls.fail("CreateService", lambda: api.service("first", queue_id=queue))
    taken = create(api, queue_id=queue)
    assert (taken.status, taken.json["error"]["details"]) == (409, {"reason": "consumer_exists"})
    assert [service["name"] for service in api("GET", "/v1/compute").json["services"]] == ["first"]
    assert (len(in_ecs()), len(task_definitions()), len(parameters()), len(keys(api))) == (1, 1, 1, 1)
    assert create(api).status == 201


def test_lists_go_by_name_and_page_by_cursor_and_ecs_is_asked_for_ten_at_a_time(api: Api, calls: Calls) -> None:
    names = [f"s{number:02}" for number in range(12)]
    for name in reversed(names):
        api.service(name)
    calls.made.clear()
    first = api("GET", "/v1/compute", limit=11).json
    assert [service["name"] for service in first["services"]] == names[:11]
    assert [len(asked["services"]) for asked in calls.arguments("DescribeServices")] == [10, 1]
    rest = api("GET", "/v1/compute", limit=11, cursor=first["next_cursor"]).json
    assert [service["name"] for service in rest["services"]] == names[11:]
    assert rest["next_cursor"] is None
    assert api("GET", "/v1/compute", cursor="garbled").code == "invalid_input"
    assert api("GET", "/v1/compute", limit=101).code == "invalid_input"


def test_a_list_can_be_asked_for_one_name(api: Api) -> None:
    service = api.service("worker")
    api.service("worker2")
    assert [found["id"] for found in api("GET", "/v1/compute", name="worker").json["services"]] == [service]
    assert api("GET", "/v1/compute", name="work").json == {"services": [], "next_cursor": None}
    assert api("GET", "/v1/compute", name="worker", cursor="x").code == "invalid_input"


def test_an_empty_list_asks_ecs_for_nothing(api: Api, calls: Calls) -> None:
    assert api("GET", "/v1/compute").json["services"] == []
    assert "DescribeServices" not in calls.names()


def act(api: Api, service: str, what: str, body: Any = None) -> Any:
    answer = api("POST", f"/v1/compute/{service}/{what}", body)
    assert answer.status == 200, answer.text
    return answer.json


def test_a_service_without_a_queue_is_stopped_started_and_scaled(api: Api) -> None:
    service = api.service()
    stopped = act(api, service, "stop")
    assert (stopped["desired"], stopped["status"], stopped["last_scale_reason"]) == (0, "stopped", "stopped")
    scaled = act(api, service, "scale", {"count": 3})
    assert (scaled["desired"], scaled["running"], scaled["status"]) == (3, 3, "running")
    assert scaled["last_scale_reason"] == "scaled"
    assert act(api, service, "start") == scaled, "it runs already"
    act(api, service, "stop")
    started = act(api, service, "start")
    assert (started["desired"], started["last_scale_reason"]) == (1, "started")
    assert started["last_scaled_at"] >= scaled["last_scaled_at"]
    assert api("GET", f"/v1/compute/{service}").json == started


def test_what_is_started_uses_the_image_as_it_is_now(api: Api, calls: Calls) -> None:
    service = api.service()
    act(api, service, "start")
    assert calls.arguments("UpdateService") == []
    act(api, service, "stop")
    act(api, service, "start")
    assert [asked.get("forceNewDeployment", False) for asked in calls.arguments("UpdateService")] == [
        False,
        True,
        False,
    ]


def test_what_ecs_gave_up_on_is_tried_again_by_a_start(api: Api, calls: Calls) -> None:
    service = api.service()
    calls.fail("DescribeServices", described(1, 0, rolloutState="FAILED"))
    assert act(api, service, "start")["status"] == "failing"
    (renewed,) = calls.arguments("UpdateService")
    assert renewed["forceNewDeployment"] is True


@pytest.mark.parametrize(("count", "status"), [(0, 200), (1000, 200), (1001, 400), (-1, 400), ("2", 400), (None, 400)])
def test_the_count_is_a_number_in_its_range(api: Api, count: Any, status: int) -> None:
    service = api.service()
    assert api("POST", f"/v1/compute/{service}/scale", {"count": count}).status == status


def test_a_service_with_a_queue_is_scaled_by_it_alone(api: Api) -> None:
    queue = api.queue()
    service = api.service(queue_id=queue)
    refused = api("POST", f"/v1/compute/{service}/scale", {"count": 1})
    assert (refused.status, refused.json["error"]["details"]) == (409, {"reason": "scaled_by_queue"})
    place = ("QUEUE#" + queue, "QUEUE")
    for what, paused in ("stop", True), ("start", False):
        assert act(api, service, what)["queue_id"] == queue
        assert table.read([place])[place]["consumer"]["paused"] is paused


def test_without_its_queue_it_is_scaled_by_hand(api: Api) -> None:
    queue = api.queue()
    service = api.service(queue_id=queue)
    assert api("DELETE", f"/v1/queue/{queue}").status == 204
    assert act(api, service, "scale", {"count": 2})["desired"] == 2
    assert act(api, service, "stop")["desired"] == 0
    assert act(api, service, "start")["desired"] == 1
    assert api("DELETE", f"/v1/compute/{service}").status == 204


def described(desired: int, running: int, **deployment: Any) -> dict[str, Any]:
    (name,) = in_ecs()
    found = {"serviceName": name, "status": "ACTIVE", "desiredCount": desired, "runningCount": running}
    return {"services": [found | {"deployments": [{"status": "PRIMARY", **deployment}]}], "failures": []}


@pytest.mark.parametrize(
    ("desired", "running", "deployment", "status"),
    [
        (0, 0, {}, "stopped"),
        (0, 2, {}, "stopping"),
        (2, 0, {"rolloutState": "IN_PROGRESS"}, "starting"),
        (2, 2, {"rolloutState": "COMPLETED"}, "running"),
        (3, 2, {}, "scaling"),
        (2, 3, {}, "scaling"),
        (2, 0, {"rolloutState": "FAILED"}, "failing"),
        (2, 1, {"failedTasks": 1}, "failing"),
        (2, 2, {"failedTasks": 1}, "running"),
        (0, 0, {"rolloutState": "FAILED"}, "stopped"),
    ],
)
def test_the_status_says_how_far_it_is(
    api: Api, calls: Calls, desired: int, running: int, deployment: Any, status: str
) -> None:
    service = api.service()
    calls.fail("DescribeServices", described(desired, running, **deployment))
    shown = api("GET", f"/v1/compute/{service}").json
    assert (shown["desired"], shown["running"], shown["status"]) == (desired, running, status)


def test_one_that_ecs_has_lost_is_shown_as_stopped_and_can_be_deleted(api: Api) -> None:
    service = api.service()
    operator("ecs").delete_service(cluster="workers", service=in_ecs()[0], force=True)
    shown = api("GET", f"/v1/compute/{service}").json
    assert (shown["desired"], shown["running"], shown["status"]) == (0, 0, "stopped")
    assert api("DELETE", f"/v1/compute/{service}").status == 204
    assert (stored_services(), parameters()) == ([], [])


def test_nothing_is_left_of_a_destroyed_service(api: Api) -> None:
    before = stored(), roles()
    queue = api.queue()
    service = api.service(queue_id=queue)
    worker = Api(api.company, api.user, api_key())
    assert worker("GET", "/v1/queue").status == 200
    assert api("DELETE", f"/v1/compute/{service}").status == 204
    assert worker("GET", "/v1/queue").status == 401
    assert (in_ecs(), task_definitions(), parameters(), keys(api)) == ([], [], [], [])
    assert api("DELETE", f"/v1/queue/{queue}").status == 204
    assert (stored(), roles()) == (before[0], [f"task-{api.user}"]), "but the role, which is the user's"
    for method, path in ("GET", ""), ("DELETE", ""), ("POST", "/start"), ("POST", "/stop"), ("GET", "/logs"):
        assert api(method, f"/v1/compute/{service}{path}").code == "not_found"


def test_a_key_that_its_owner_revoked_is_in_nobodys_way(api: Api) -> None:
    service = api.service()
    (key,) = keys(api)
    assert api("DELETE", f"/v1/auth/keys/{key['key_id']}").status == 204
    assert api("DELETE", f"/v1/compute/{service}").status == 204
    assert keys(api) == []


def test_a_key_that_is_revoked_at_the_same_moment_is_in_nobodys_way(api: Api, calls: Calls) -> None:
    service = api.service()
    (key,) = keys(api)
    revoke = lambda: api("DELETE", f"/v1/auth/keys/{key['key_id']}")  # noqa: E731  # a hook
    calls.fail("TransactWriteItems", revoke)
    assert api("DELETE", f"/v1/compute/{service}").status == 204
    assert (keys(api), stored_services()) == ([], [])


def test_a_user_with_services_is_deleted_only_by_force(api: Api) -> None:
    client = api.new_key(api.new_user())
    service = client.service()
    refused = api("DELETE", f"/v1/users/{client.user}")
    assert (refused.status, refused.json["error"]["details"]) == (409, {"reason": "user_has_resources"})
    assert refused.json["error"]["message"] == "the user still has services: 1"
    client.queue()
    assert "queues: 1, services: 1" in api("DELETE", f"/v1/users/{client.user}").json["error"]["message"]
    for path in f"/v1/compute/{service}", f"/v1/queue/{client('GET', '/v1/queue').json['queues'][0]['id']}":
        assert client("DELETE", path).status == 204
    assert api("DELETE", f"/v1/users/{client.user}").status == 204


def test_a_repeat_makes_no_second_service(api: Api) -> None:
    headers = {"idempotency-key": "k"}
    first, again = (api("POST", "/v1/compute", NEW, headers=headers) for _ in range(2))
    assert (first.status, first.json) == (201, again.json)
    assert len(in_ecs()) == 1


# What AWS says, where, and what is made of it.
FAULTS = [
    ("CreateService", "ClusterNotFoundException", 503, "unavailable", "EcsCluster"),
    ("CreateService", "InvalidParameterException", 503, "unavailable", "SubnetIds"),
    ("CreateService", "ThrottlingException", 503, "unavailable", "Retry-After"),
    ("CreateRole", "Throttling", 503, "unavailable", "Retry-After"),
    ("PutParameter", "TooManyUpdates", 503, "unavailable", "Retry-After"),
    ("CreateService", "UnsupportedFeatureException", 500, "internal_error", None),
    ("PutParameter", "ParameterLimitExceeded", 500, "internal_error", None),
]


@pytest.mark.parametrize(("operation", "fault", "status", "code", "hint"), FAULTS)
def test_what_aws_refuses_is_translated_and_leaves_nothing(
    api: Api, calls: Calls, operation: str, fault: str, status: int, code: str, hint: str | None
) -> None:
    calls.fail(operation, aws_fault(fault))
    answer = create(api)
    assert (answer.status, answer.code) == (status, code)
    assert hint is None or hint in answer.json["error"]["hint"]
    assert "arn:" not in answer.text
    assert (stored_services(), in_ecs(), task_definitions(), parameters(), keys(api)) == ([], [], [], [], [])
    assert create(api).status == 201


def test_a_role_that_was_made_just_now_is_waited_for(api: Api, calls: Calls, slept: list[float]) -> None:
    calls.fail("RegisterTaskDefinition", aws_fault("AccessDeniedException"), aws_fault("ClientException"))
    assert create(api).status == 201
    assert slept == [1, 2]


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [("ClientException", 400, "invalid_input"), ("AccessDeniedException", 500, "internal_error")],
)
def test_a_definition_that_is_not_taken_at_all_is_refused(
    api: Api, calls: Calls, slept: list[float], fault: str, status: int, code: str
) -> None:
    calls.fail("RegisterTaskDefinition", *[aws_fault(fault)] * 4)
    answer = create(api)
    assert (answer.status, answer.code) == (status, code)
    assert slept == [1, 2, 4]
    assert create(api).status == 201


def test_what_else_goes_wrong_with_a_definition_is_not_waited_for(api: Api, calls: Calls, slept: list[float]) -> None:
    calls.fail("RegisterTaskDefinition", aws_fault("LimitExceededException"))
    assert create(api).status == 503
    assert slept == []


def test_a_service_that_ecs_does_not_have_any_more_is_not_found(api: Api, calls: Calls) -> None:
    service = api.service()
    for fault in "ServiceNotFoundException", "ServiceNotActiveException":
        calls.fail("UpdateService", aws_fault(fault))
        assert api("POST", f"/v1/compute/{service}/scale", {"count": 1}).code == "not_found"
    calls.fail("DescribeServices", aws_fault("ClusterNotFoundException"))
    answer = api("GET", f"/v1/compute/{service}")
    assert (answer.status, "EcsCluster" in answer.json["error"]["hint"]) == (503, True)


def test_a_deletion_that_aws_does_not_take_is_one_for_its_owner(api: Api, calls: Calls) -> None:
    service = api.service()
    calls.fail("DeleteService", aws_fault("AccessDeniedException"))
    assert api("DELETE", f"/v1/compute/{service}").status == 204
    assert api("GET", "/v1/compute").json["services"] == []
    assert len(in_ecs()) == 1
    assert [left.state for left in services.due(9)] == []


def test_only_the_last_reason_is_kept(api: Api) -> None:
    service = api.service()
    at = int(time.time()) + 10
    services.scaled(service, "3 ready", at)
    services.scaled(service, "late", at - 1)
    services.scaled(new_id(), "nobody's", at)
    shown = api("GET", f"/v1/compute/{service}").json
    assert (shown["last_scale_reason"], shown["last_scaled_at"]) == ("3 ready", aws_time(at))
    assert len(stored_services()) == 2


def aws_time(at: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at))


def test_one_is_found_for_its_user_alone(api: Api) -> None:
    service = api.service()
    assert services.find(api.user, service).id == service
    for user, name in (new_id(), service), (api.user, new_id()), (api.user, "x" * 3000):
        with pytest.raises(NotFound):
            services.find(user, name)
