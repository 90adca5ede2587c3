"""What ECS is asked for: which services should have how many tasks, and what a task of them is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local import cluster


@dataclass(frozen=True)
class Service:
    """A service, as it is to be."""

    name: str
    count: int
    deployment: str
    """Changes when the tasks are to be replaced."""
    definition: str
    """The task definition's ARN."""


@dataclass(frozen=True)
class Container:
    """What runs as a task."""

    image: str
    command: Sequence[str]
    environment: Mapping[str, str]
    secrets: Mapping[str, str]
    """By the variable's name, the ARN of a parameter."""
    role: str
    log_group: str
    log_prefix: str


def read(ecs: Any) -> list[Service]:
    """The services of the stack's cluster."""
    pages = ecs.get_paginator("list_services").paginate(cluster=cluster.NAME)
    names = [arn for page in pages for arn in page["serviceArns"]]
    # AWS takes ten at a time; the emulators take all, and this is asked often.
    found = ecs.describe_services(cluster=cluster.NAME, services=names)["services"] if names else []
    return [_service(answer) for answer in found if answer["status"] == "ACTIVE"]


def container(ecs: Any, definition: str) -> Container:
    """The container of a task definition; ours have one."""
    task = ecs.describe_task_definition(taskDefinition=definition)["taskDefinition"]
    (found,) = task["containerDefinitions"]
    log = found["logConfiguration"]["options"]
    return Container(
        image=found["image"],
        command=found.get("command", []),
        environment={variable["name"]: variable["value"] for variable in found["environment"]},
        secrets={secret["name"]: secret["valueFrom"] for secret in found["secrets"]},
        role=task["taskRoleArn"],
        log_group=log["awslogs-group"],
        log_prefix=f"{log['awslogs-stream-prefix']}/{found['name']}",
    )


def resolved(ssm: Any, secrets: Mapping[str, str]) -> dict[str, str]:
    """The values of secrets, read anew for each task as ECS does."""
    names = {variable: arn.partition(":parameter")[2] for variable, arn in secrets.items()}
    return {
        variable: ssm.get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"]
        for variable, name in names.items()
    }


def _service(found: Any) -> Service:
    (primary,) = (deployment for deployment in found["deployments"] if deployment["status"] == "PRIMARY")
    return Service(found["serviceName"], found["desiredCount"], primary["id"], found["taskDefinition"])
