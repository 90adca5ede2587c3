"""What there is in the account, for tests of what is left in it."""

from typing import Any

import boto3

from tenancy import registry, table
from tests.integration.lambdas import mappings


def stored() -> list[Any]:
    """Every item of the registry, in order."""
    pages = boto3.client("dynamodb").get_paginator("scan").paginate(TableName="registry")
    items = [item for page in pages for item in page["Items"]]
    return sorted(items, key=lambda item: (item["pk"]["S"], item["sk"]["S"]))


def used_keys() -> set[str]:
    """The ids of the keys of which something is counted."""
    return {item["id"]["S"] for item in boto3.client("dynamodb").scan(TableName="usage")["Items"]}


def sqs_names() -> list[str]:
    """The name of every queue in SQS, in order."""
    pages = boto3.client("sqs").get_paginator("list_queues").paginate(PaginationConfig={"PageSize": 1000})
    return sorted(url.rpartition("/")[2] for page in pages for url in page.get("QueueUrls", []))


def roles() -> list[str]:
    """The name of every role, in order."""
    return sorted(role["RoleName"] for role in boto3.client("iam").list_roles()["Roles"])


def secrets() -> list[str]:
    """The id of every queue of whose webhook the secret is stored."""
    return [item["pk"]["S"].partition("#")[2] for item in stored() if item["sk"]["S"] == "SECRET"]


def traces(user: str) -> list[Any]:
    """Whatever there is of a user. A secret does not say whose it is, so one of a queue that is gone is anybody's."""
    items = [item for item in stored() if user in repr(item)]
    fed = [mapping["EventSourceArn"] for mapping in mappings()]
    lost = set(secrets()) - {item["id"]["S"] for item in stored() if item["sk"]["S"] == "QUEUE"}
    names = [name for name in [*sqs_names(), *roles(), *fed] if user in name or user.replace("-", "")[:24] in name]
    return [*items, *names, *lost]


def booked(company: str) -> tuple[int, int]:
    """The concurrency that a company's record says that its consumers have, and what they have."""
    key = registry.company_key(company)
    queues = [item for item in stored() if item["sk"]["S"] == "QUEUE" and item["company"]["S"] == company]
    consumers = [item["consumer"]["M"] for item in queues if "consumer" in item]
    own = sum(int(consumer["max_concurrency"]["N"]) for consumer in consumers if "max_concurrency" in consumer)
    return table.read([key])[key]["concurrency"], own


def counted(user: str) -> tuple[int, int]:
    """How many queues a user's record says that it has, and how many names of queues it has."""
    key = registry.user_key(user)
    names = [item for item in stored() if item["pk"]["S"] == key[0] and item["sk"]["S"].startswith("QUEUE_NAME#")]
    return table.read([key])[key]["queues"], len(names)
