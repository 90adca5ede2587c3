"""What runs in AWS for a tenant beside the queues: the tasks of services, on ECS Fargate."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from botocore.exceptions import ClientError

from tenancy import employment, tasks
from tenancy.aws import ECS_CLUSTER, STAGE, client, error_code, reaching_aws
from tenancy.batches import tens
from tenancy.errors import InvalidInput, NotFound, Unavailable
from tenancy.names import service_name
from tenancy.registry import Service

if TYPE_CHECKING:
    from mypy_boto3_ecs import ECSClient

Status = Literal["stopped", "starting", "running", "scaling", "stopping", "failing"]

EXECUTION_ROLE = os.environ["EXECUTION_ROLE"]
NETWORK: Any = {
    "subnets": os.environ["SUBNETS"].split(","),
    "securityGroups": os.environ["SECURITY_GROUPS"].split(","),
    "assignPublicIp": os.environ["ASSIGN_PUBLIC_IP"],
}

_ecs: "ECSClient" = client("ecs")
_PAUSES = (1, 2, 4)
"""Seconds between tries to use a role that may have been made just now: IAM says so everywhere a few seconds later."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many tasks a service should have and has, and whether ECS has given up or keeps failing to start them."""

    desired: int
    running: int
    failing: bool = False

    @property
    def status(self) -> Status:
        if self.desired == 0:
            return "stopping" if self.running else "stopped"
        if self.failing and self.running < self.desired:
            return "failing"
        if self.running == 0:
            return "starting"
        return "running" if self.running == self.desired else "scaling"


def require() -> None:
    """Raise InvalidInput where whoever operates this deployment has not said where services run."""
    if not (ECS_CLUSTER and all(NETWORK["subnets"]) and all(NETWORK["securityGroups"])):
        raise InvalidInput(
            "this deployment runs no compute services",
            hint="Whoever operates it sets the parameters EcsCluster, SubnetIds and SecurityGroupIds.",
        )


def create(service: Service, desired: int) -> Counts:
    """Make the service. Raises InvalidInput for one that ECS does not take."""
    definition = _register(service)
    try:
        with _asking_ecs():
            answer = _ecs.create_service(
                cluster=ECS_CLUSTER,
                serviceName=_name(service),
                clientToken=service.id,
                taskDefinition=definition,
                desiredCount=desired,
                launchType="FARGATE",
                networkConfiguration={"awsvpcConfiguration": NETWORK},
                # ECS gives up on tasks that never start, instead of trying for ever at the operator's expense.
                deploymentConfiguration={
                    "deploymentCircuitBreaker": {"enable": True, "rollback": False},
                    "minimumHealthyPercent": 100,
                    "maximumPercent": 200,
                },
                # On by default, it would stop workers that have something to do, to even out the zones.
                availabilityZoneRebalancing="DISABLED",
                enableExecuteCommand=False,
                propagateTags="SERVICE",
                tags=tasks.tags(service),
            )
    except ClientError as fault:
        if error_code(fault) == "InvalidParameterException":
            raise Unavailable(
                "ECS cannot run the service now",
                hint="Whoever operates this deployment checks its parameters SubnetIds and SecurityGroupIds.",
            ) from fault
        raise
    return _counts(answer["service"])


def deploy(service: Service) -> None:
    """Let the tasks that start from now on be as the service's record says, and those that run be replaced."""
    definition = _register(service)
    with _asking_ecs():
        _ecs.update_service(cluster=ECS_CLUSTER, service=_name(service), taskDefinition=definition)
    employment.told(service)


def renew(service: Service) -> None:
    """Let tasks start from the image as it is now, also where ECS has given up to start any."""
    with _asking_ecs():
        _ecs.update_service(cluster=ECS_CLUSTER, service=_name(service), forceNewDeployment=True)


def set_desired(service: Service, count: int) -> Counts:
    """Let the service have so many tasks. Raises NotFound when it is being destroyed."""
    with _asking_ecs():
        answer = _ecs.update_service(cluster=ECS_CLUSTER, service=_name(service), desiredCount=count)
    return _counts(answer["service"])


def counts(service: Service) -> Counts:
    """How many tasks the service should have and has."""
    return counts_of([service])[0]


def counts_of(services: Sequence[Service]) -> list[Counts]:
    """How many tasks each of the services should have and has; nothing of one that ECS does not have any more."""
    found: dict[str, Counts] = {}
    for some in tens([_name(service) for service in services]):
        with _asking_ecs():
            answer = _ecs.describe_services(cluster=ECS_CLUSTER, services=some)
        found |= {made["serviceName"]: _counts(made) for made in answer["services"] if made["status"] == "ACTIVE"}
    return [found.get(_name(service), Counts(0, 0)) for service in services]


def is_protected(service: Service) -> bool:
    """Whether a task of the service keeps itself from being scaled in at this moment."""
    with _asking_ecs():
        running = _ecs.list_tasks(cluster=ECS_CLUSTER, serviceName=_name(service))["taskArns"]
        if not running:
            return False
        found = _ecs.get_task_protection(cluster=ECS_CLUSTER, tasks=running)
    return any(task["protectionEnabled"] for task in found["protectedTasks"])


def remove(service: Service) -> None:
    """Remove the service, its tasks and its task definitions, or what is left of them."""
    name = _name(service)
    with suppress(NotFound), _asking_ecs():
        _ecs.delete_service(cluster=ECS_CLUSTER, service=name, force=True)
    for some in tens(list(_deregistered(name))):
        with _asking_ecs():
            _ecs.delete_task_definitions(taskDefinitions=some)


def _register(service: Service) -> str:
    """The ARN of a new task definition. Raises InvalidInput for one that ECS does not take."""
    definition = tasks.definition(service, EXECUTION_ROLE)
    pauses = list(_PAUSES)
    while True:
        try:
            with _asking_ecs():
                return _ecs.register_task_definition(**definition)["taskDefinition"]["taskDefinitionArn"]
        except ClientError as fault:
            if error_code(fault) not in ("AccessDeniedException", "ClientException"):
                raise
            if not pauses and error_code(fault) == "ClientException":
                raise InvalidInput("ECS does not take this service", hint="Check image, command and env.") from fault
            if not pauses:
                raise
        time.sleep(pauses.pop(0))


def _deregistered(family: str) -> Iterator[str]:
    """The task definitions of a family, each taken out of use."""
    for revision in count(1):
        name = f"{family}:{revision}"
        try:
            with _asking_ecs():
                _ecs.deregister_task_definition(taskDefinition=name)
        except ClientError as fault:
            if error_code(fault) == "ClientException":
                return  # There are no more.
            raise
        yield name


def _counts(found: Any) -> Counts:
    failing = any(
        deployment.get("rolloutState") == "FAILED" or deployment.get("failedTasks", 0) > 0
        for deployment in found["deployments"]
        if deployment["status"] == "PRIMARY"
    )
    return Counts(found["desiredCount"], found["runningCount"], failing)


def _name(service: Service) -> str:
    return service_name(STAGE, service.user, service.id)


@contextmanager
def _asking_ecs() -> Iterator[None]:
    """Turn a service that is not there any more into NotFound, a cluster that is not there into Unavailable."""
    try:
        with reaching_aws():
            yield
    except ClientError as fault:
        if error_code(fault) in ("ServiceNotFoundException", "ServiceNotActiveException"):
            raise NotFound() from fault
        if error_code(fault) == "ClusterNotFoundException":
            raise Unavailable(
                "there is nothing that services could run on now",
                hint="Whoever operates this deployment checks its parameter EcsCluster: there is no such cluster.",
            ) from fault
        raise
