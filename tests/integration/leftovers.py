"""What there is in the account, for tests of what is left in it."""

from typing import Any

import boto3

from tenancy import registry, table


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


def traces(user: str) -> list[Any]:
    """Whatever there is of a user."""
    items = [item for item in stored() if user in repr(item)]
    return items + [name for name in [*sqs_names(), *roles()] if user in name or user.replace("-", "")[:24] in name]


def counted(user: str) -> tuple[int, int]:
    """How many queues a user's record says that it has, and how many names of queues it has."""
    key = registry.user_key(user)
    names = [item for item in stored() if item["pk"]["S"] == key[0] and item["sk"]["S"].startswith("QUEUE_NAME#")]
    return table.read([key])[key]["queues"], len(names)
