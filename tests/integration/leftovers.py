"""What there is in the account, for tests of what is left in it."""

from functools import cache
from typing import Any

import boto3

from tenancy import registry, table
from tests.integration.lambdas import mappings


@cache
def operator(service: Any) -> Any:
    """A client of whoever owns the account; making one takes longer than most of what it is used for here."""
    return boto3.client(service)


def stored() -> list[Any]:
    """Every item of the registry, in order."""
    pages = operator("dynamodb").get_paginator("scan").paginate(TableName="registry")
    items = [item for page in pages for item in page["Items"]]
    return sorted(items, key=lambda item: (item["pk"]["S"], item["sk"]["S"]))


def used_keys() -> set[str]:
    """The ids of the keys of which something is counted."""
    return {item["id"]["S"] for item in operator("dynamodb").scan(TableName="usage")["Items"]}


def sqs_names() -> list[str]:
    """The name of every queue in SQS that is somebody's, in order."""
    pages = (
        operator("sqs")
        .get_paginator("list_queues")
        .paginate(QueueNamePrefix="nv-", PaginationConfig={"PageSize": 1000})
    )
    return sorted(url.rpartition("/")[2] for page in pages for url in page.get("QueueUrls", []))


def roles() -> list[str]:
    """The name of every role, in order."""
    return sorted(role["RoleName"] for role in operator("iam").list_roles()["Roles"])


def services() -> list[str]:
    """The name of every service in ECS that is not deleted, in order."""
    ecs, names = operator("ecs"), []
    for cluster in ecs.list_clusters()["clusterArns"]:
        arns = ecs.list_services(cluster=cluster)["serviceArns"]
        found = ecs.describe_services(cluster=cluster, services=arns)["services"] if arns else []
        names += [service["serviceName"] for service in found if service["status"] == "ACTIVE"]
    return sorted(names)


def task_definitions() -> list[str]:
    """Every task definition, deregistered or not, in order."""
    ecs = operator("ecs")
    arns = [
        arn
        for status in ("ACTIVE", "INACTIVE")
        for arn in ecs.list_task_definitions(status=status)["taskDefinitionArns"]
    ]
    return sorted(arn.rpartition("/")[2] for arn in arns)


def parameters() -> list[str]:
    """The name of every parameter in Systems Manager, in order."""
    pages = operator("ssm").get_paginator("describe_parameters").paginate()
    return sorted(parameter["Name"] for page in pages for parameter in page["Parameters"])


def secrets() -> list[str]:
    """The id of every queue of whose webhook the secret is stored."""
    return [item["pk"]["S"].partition("#")[2] for item in stored() if item["sk"]["S"] == "SECRET"]


def traces(user: str) -> list[Any]:
    """Whatever there is of a user; of its services' keys, all keys of all services.

    A webhook's secret does not say whose it is, so one of a queue that is gone is anybody's.
    """
    items = [item for item in stored() if user in repr(item)]
    fed = [mapping["EventSourceArn"] for mapping in mappings()]
    lost = set(secrets()) - {item["id"]["S"] for item in stored() if item["sk"]["S"] == "QUEUE"}
    names = [*sqs_names(), *roles(), *fed, *services(), *task_definitions()]
    names = [name for name in names if user in name or user.replace("-", "")[:24] in name]
    return [*items, *names, *lost, *parameters()]


def booked(company: str) -> tuple[int, int]:
    """The concurrency that a company's record says that its consumers have, and what they have or AWS may have."""
    key = registry.company_key(company)
    queues = [item for item in stored() if item["sk"]["S"] == "QUEUE" and item["company"]["S"] == company]
    own = sum(
        max(_number(queue, "consumer", "max_concurrency"), _number(queue, "mapping", "booked")) for queue in queues
    )
    return table.read([key])[key]["concurrency"], own


def counted(user: str, what: str = "queue") -> tuple[int, int]:
    """How many queues or services a user's record says that it has, and how many names of them it has."""
    key, prefix = registry.user_key(user), f"{what.upper()}_NAME#"
    names = [item for item in stored() if item["pk"]["S"] == key[0] and item["sk"]["S"].startswith(prefix)]
    return table.read([key])[key][f"{what}s"], len(names)


def _number(item: Any, of: str, name: str) -> int:
    return int(item.get(of, {}).get("M", {}).get(name, {}).get("N", 0))
