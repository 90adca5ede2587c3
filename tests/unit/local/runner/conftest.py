"""A stack whose AWS is moto, with a cluster, a log group and what a task reads."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from local import cluster
from local.runner import output
from local.stack import Stack

LOG_GROUP = "/naive/local/services"
KEY = "/naive/local/services/s/key"


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    monkeypatch.setattr(output, "_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(Stack, "client", lambda _stack, service, **_: boto3.client(service))
    with mock_aws():
        boto3.client("ecs").create_cluster(clusterName=cluster.NAME)
        boto3.client("logs").create_log_group(logGroupName=LOG_GROUP)
        boto3.client("ssm").put_parameter(Name=KEY, Value="nv_sk_live_k", Type="SecureString")
        yield Stack(tmp_path, 4566)


def define(*command: str, **environment: str) -> str:
    """The ARN of a task definition as ours are, with this command."""
    container: Any = {
        "name": "worker",
        "image": "me/worker",
        "environment": [{"name": name, "value": value} for name, value in environment.items()],
        "secrets": [{"name": "NAIVE_API_KEY", "valueFrom": f"arn:aws:ssm:us-east-1:123456789012:parameter{KEY}"}],
        "logConfiguration": {
            "logDriver": "awslogs",
            "options": {"awslogs-group": LOG_GROUP, "awslogs-region": "us-east-1", "awslogs-stream-prefix": "s"},
        },
        "memory": 512,
    }
    if command:
        container["command"] = [*command]
    role = "arn:aws:iam::123456789012:role/naive/local/task-u"
    made = boto3.client("ecs").register_task_definition(
        family="s", taskRoleArn=role, executionRoleArn=role, containerDefinitions=[container]
    )
    return made["taskDefinition"]["taskDefinitionArn"]


def logged(wanted: int = 0) -> list[str]:
    """What tasks have written, once it is so much."""
    logs = boto3.client("logs")
    found = until(lambda: logs.filter_log_events(logGroupName=LOG_GROUP)["events"], lambda found: len(found) >= wanted)
    return [event["message"] for event in found]


def until[Found](look: Callable[[], Found], good: Callable[[Found], bool]) -> Found:
    """What is seen once it is good."""
    patience = time.monotonic() + 30
    while not good(found := look()):
        assert time.monotonic() < patience, found
        time.sleep(0.02)
    return found
