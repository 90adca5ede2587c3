"""What ECS is told of a service's tasks: pure functions."""

from typing import TYPE_CHECKING, Any

from tenancy.aws import ACCOUNT, PARTITION, REGION, STAGE
from tenancy.names import service_name
from tenancy.registry import Service

if TYPE_CHECKING:
    from mypy_boto3_ecs.type_defs import TagTypeDef

CONTAINER = "worker"
LOG_GROUP = f"/naive/{STAGE}/services"
BASE_URL_PARAMETER = f"/naive/{STAGE}/services/base-url"
"""Where in Systems Manager the API's address is, which the template writes."""
ROLE_PATH = f"/naive/{STAGE}/"
STOP_SECONDS = 120
"""How long a task may finish what it has begun when it is stopped; Fargate allows no more."""


def definition(service: Service, execution_role: str) -> dict[str, Any]:
    """The task definition. Of the key it has only where that is."""
    environment = dict(service.env)
    if service.queue_id is not None:
        environment["NAIVE_QUEUE_ID"] = service.queue_id
    secrets = {"NAIVE_API_KEY": key_parameter(service), "NAIVE_BASE_URL": BASE_URL_PARAMETER}
    container = {
        "name": CONTAINER,
        "image": service.image,
        "essential": True,
        "environment": [{"name": name, "value": value} for name, value in environment.items()],
        "secrets": [{"name": name, "valueFrom": _arn(where)} for name, where in secrets.items()],
        "stopTimeout": STOP_SECONDS,
        "logConfiguration": {
            "logDriver": "awslogs",
            "options": {
                "awslogs-group": LOG_GROUP,
                "awslogs-region": REGION,
                "awslogs-stream-prefix": service.id,
            },
        },
    }
    if service.command:
        container["command"] = list(service.command)
    return {
        "family": service_name(STAGE, service.user, service.id),
        "requiresCompatibilities": ["FARGATE"],
        "networkMode": "awsvpc",
        "cpu": str(service.cpu),
        "memory": str(service.memory),
        "taskRoleArn": role_arn(service.user),
        "executionRoleArn": execution_role,
        "containerDefinitions": [container],
        "tags": tags(service),
    }


def key_parameter(service: Service) -> str:
    """Where in Systems Manager the key of the service's tasks is."""
    return f"/naive/{STAGE}/services/{service.id}/key"


def role_name(user: str) -> str:
    """What the role that the user's tasks take on is called."""
    return f"task-{user}"


def role_arn(user: str) -> str:
    """Which role the user's tasks take on."""
    return f"arn:{PARTITION}:iam::{ACCOUNT}:role{ROLE_PATH}{role_name(user)}"


def tags(service: Service) -> "list[TagTypeDef]":
    """What tells whose it is, for whoever reads a bill."""
    return [
        {"key": "stage", "value": STAGE},
        {"key": "company", "value": service.company},
        {"key": "user", "value": service.user},
        {"key": "service", "value": service.id},
    ]


def _arn(parameter: str) -> str:
    return f"arn:{PARTITION}:ssm:{REGION}:{ACCOUNT}:parameter{parameter}"
