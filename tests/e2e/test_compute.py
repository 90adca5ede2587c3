"""Services on the deployed stack, as the API and AWS have them; what is run for them is tested apart."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e import seen
from tests.e2e.conftest import Api, client, unique
from tests.e2e.deployed import environment, invoked, operator, records

CLUSTER = "naive-local"
PARAMETERS = LOG_GROUP = "/naive/local/services"


@pytest.fixture
def own() -> Iterator[Api]:
    """The client of a company that has nothing else."""
    with client(invoked("bootstrap", company=unique())["api_key"]) as http:
        yield Api(http)


def key_of(service: str) -> str:
    """What ECS would give a task of the service as its key."""
    answer = operator("ssm").get_parameter(Name=f"{PARAMETERS}/{service}/key", WithDecryption=True)["Parameter"]
    assert answer["Type"] == "SecureString"
    seen.keys.add(answer["Value"])
    return str(answer["Value"])


def of_ecs(service: str) -> Any:
    """The service as ECS has it."""
    arns = operator("ecs").list_services(cluster=CLUSTER)["serviceArns"]
    (arn,) = (arn for arn in arns if arn.endswith(service.replace("-", "")))
    (found,) = operator("ecs").describe_services(cluster=CLUSTER, services=[arn])["services"]
    return found


def definition(service: str) -> Any:
    arn = of_ecs(service)["taskDefinition"]
    return operator("ecs").describe_task_definition(taskDefinition=arn)["taskDefinition"]


def test_a_service_lives_from_its_creation_to_its_deletion(own: Api) -> None:
    service = own.service(command=["work"], env={"A": "1"})
    path = f"/v1/compute/{service}"
    assert (of_ecs(service)["desiredCount"], own("GET", path).json()["desired"]) == (1, 1)
    for what, body, count in ("scale", {"count": 3}, 3), ("stop", {}, 0), ("start", {}, 1):
        shown = own("POST", f"{path}/{what}", body).json()
        assert (shown["desired"], of_ecs(service)["desiredCount"]) == (count, count)
        assert shown == own("GET", path).json()
    assert [found["id"] for found in own("GET", "/v1/compute").json()["services"]] == [service]
    key = key_of(service)
    with client(key) as http:
        worker = Api(http)
        assert worker("GET", "/v1/users/me").json()["is_default"] is True
        assert own("DELETE", path).status_code == 204
        # A function that let the worker in may go by that for 5 s; this one did not.
        assert worker("GET", "/v1/queue").status_code == 401
    assert own("GET", path).status_code == 404
    assert not [arn for arn in operator("ecs").list_services(cluster=CLUSTER)["serviceArns"] if service[:8] in arn]
    with pytest.raises(operator("ssm").exceptions.ParameterNotFound):
        key_of(service)
    assert not [record for record in records("Registry") if service in repr(record)]
    assert not [key for key in own("GET", "/v1/auth/keys").json()["keys"] if key["name"].startswith("service:")]


def test_a_task_is_told_where_the_api_is_and_which_queue_is_its_own(own: Api) -> None:
    queue = own.queue()
    service = own.service(queue_id=queue)
    (container,) = definition(service)["containerDefinitions"]
    assert {"name": "NAIVE_QUEUE_ID", "value": queue} in container["environment"]
    told = {}
    for secret in container["secrets"]:
        name = secret["valueFrom"].partition(":parameter")[2]
        told[secret["name"]] = operator("ssm").get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"]
    assert told == {"NAIVE_API_KEY": key_of(service), "NAIVE_BASE_URL": environment("NAIVE_BASE_URL")}


def test_its_tasks_take_on_the_role_of_their_user(own: Api) -> None:
    arn = definition(own.service())["taskRoleArn"]
    role = operator("iam").get_role(RoleName=arn.rpartition("/")[2])["Role"]
    assert (role["Arn"], arn.partition(":role/")[2].startswith("naive/local/task-")) == (arn, True)
    assert role["PermissionsBoundary"]["PermissionsBoundaryArn"].partition(":policy")[2].startswith("/naive/local/")


def test_what_starts_tasks_reads_the_keys_of_services_alone(own: Api) -> None:
    role = definition(own.service())["executionRoleArn"]
    (policy,) = operator("iam").list_role_policies(RoleName=role.rpartition("/")[2])["PolicyNames"][:1]
    document = operator("iam").get_role_policy(RoleName=role.rpartition("/")[2], PolicyName=policy)["PolicyDocument"]
    read = [statement for statement in document["Statement"] if "ssm" in json.dumps(statement["Action"])]
    assert [statement["Resource"].partition(":parameter")[2] for statement in read] == [f"{PARAMETERS}/*"]
    assert "/platform/" not in role, "every queue would admit it"


def test_the_lines_of_a_service_are_its_owners_alone(own: Api, stranger: Api) -> None:
    services = [(owner, owner.service()) for owner in (own, stranger)]
    ids = tuple(service for _, service in services)
    for _, service in services:
        stream = {"logGroupName": LOG_GROUP, "logStreamName": f"{service}/worker/1"}
        operator("logs").create_log_stream(**stream)
        now = round(time.time() * 1000)
        events = [{"timestamp": now + number, "message": f"{service} {number}"} for number in range(3)]
        operator("logs").put_log_events(**stream, logEvents=events)
    for owner, service in services:
        lines = owner("GET", f"/v1/compute/{service}/logs", limit=1000).json()["lines"]
        # What runs services here has its own to say: that it cannot run these.
        said = [line["message"] for line in lines if line["message"].startswith(ids)]
        assert said == [f"{service} {number}" for number in range(3)]


def test_a_key_of_a_service_is_in_no_table_and_no_definition(own: Api) -> None:
    service = own.service()
    key = key_of(service)
    assert key not in json.dumps(definition(service), default=str)
    for table in "Registry", "Idempotency", "Usage":
        assert not [record for record in records(table) if key in repr(record)]
