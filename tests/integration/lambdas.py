"""Lambda functions in moto, as an operator deploys them, and the mappings that feed them."""

import io
import zipfile
from functools import cache
from typing import Any

import boto3

from tenancy.lambdas import TAG

WEBHOOK_WORKER = "naive-test-webhook_worker"


def deploy(name: str, company: str | None = None, *, timeout: int = 10, path: str = "/") -> str:
    """A function that was deployed for a company, or for none; its role's ARN. `path` is the role's."""
    role: str = client("iam").create_role(Path=path, RoleName=f"{name}-role", AssumeRolePolicyDocument="{}")["Role"][
        "Arn"
    ]
    client("lambda").create_function(
        FunctionName=name,
        Runtime="python3.13",
        Role=role,
        Handler="app.handler",
        Code={"ZipFile": _EMPTY},
        Timeout=timeout,
        Tags={} if company is None else {TAG: company},
    )
    return role


def deploy_ours() -> None:
    """What the template deploys and queues are mapped to."""
    deploy(WEBHOOK_WORKER, timeout=20, path="/naive/test/platform/")


def mappings() -> list[Any]:
    """Every mapping that there is."""
    return list(client("lambda").list_event_source_mappings()["EventSourceMappings"])


@cache
def client(service: Any) -> Any:
    """A client for whichever account there is: making one takes longer than most calls."""
    return boto3.client(service)


def _empty() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("app.py", "")
    return file.getvalue()


_EMPTY = _empty()
