"""What a task asks of its agent is answered as ECS does; and by the client of this repository it is understood."""

import time
from collections.abc import Iterator
from typing import Any

import boto3
import httpx
import pytest

from local.runner.agent import Agent
from local.stack import Stack
from naive.consumer.protection import Protection

TASK = "0" * 32


@pytest.fixture
def agent(stack: Stack) -> Iterator[Agent]:
    agent = Agent(stack)
    yield agent
    agent.close()


@pytest.fixture
def state(agent: Agent) -> str:
    """Where the protection of a task is."""
    return agent.enrol(TASK, "role")["ECS_AGENT_URI"] + "/task-protection/v1/state"


def test_our_own_worker_protects_its_task_and_ends_that(agent: Agent) -> None:
    protection = Protection(agent.enrol(TASK, "role")["ECS_AGENT_URI"])
    assert not agent.protects(TASK)
    assert protection.change(1)
    assert agent.protects(TASK)
    assert protection.change(None)
    assert not agent.protects(TASK)
    protection.close()


def test_protection_ends_by_itself(agent: Agent, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert httpx.put(state, json={"ProtectionEnabled": True, "ExpiresInMinutes": 1}).status_code == 200
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    assert not agent.protects(TASK)


def test_the_state_can_be_read(state: str) -> None:
    assert httpx.get(state).json()["protection"]["ProtectionEnabled"] is False
    told = httpx.put(state, json={"ProtectionEnabled": True}).json()["protection"]
    assert httpx.get(state).json()["protection"] == told
    assert told.keys() == {"ProtectionEnabled", "TaskArn", "ExpirationDate"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"1",
        b"{}",
        b'{"ProtectionEnabled": "true"}',
        b'{"ProtectionEnabled": true, "ExpiresInMinutes": 0}',
        b'{"ProtectionEnabled": true, "ExpiresInMinutes": 2881}',
        b'{"ProtectionEnabled": true, "ExpiresInMinutes": true}',
    ],
)
def test_what_ecs_would_refuse_is_refused_and_changes_nothing(agent: Agent, state: str, body: bytes) -> None:
    answer = httpx.put(state, content=body)
    assert (answer.status_code, "error" in answer.json()) == (400, True)
    assert not agent.protects(TASK)


def test_whoever_does_not_know_a_tasks_id_learns_nothing(agent: Agent, state: str) -> None:
    other = state.replace(TASK, "1" * 32)
    for answer in httpx.get(other), httpx.put(other, json={"ProtectionEnabled": True}), httpx.get(state[:30]):
        assert (answer.status_code, "error" in answer.json()) == (404, True)
    agent.dismiss(TASK)
    assert httpx.get(state).status_code == 404


def test_a_task_gets_the_credentials_of_its_role(agent: Agent) -> None:
    iam = boto3.client("iam")
    trust = '{"Version": "2012-10-17", "Statement": []}'
    role = iam.create_role(RoleName="task-u", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    where = agent.enrol(TASK, role)["AWS_CONTAINER_CREDENTIALS_FULL_URI"]
    for _ in range(2):
        given: dict[str, Any] = httpx.get(where).json()
        assert given["RoleArn"] == role
        assert given.keys() == {"RoleArn", "AccessKeyId", "SecretAccessKey", "Token", "Expiration"}
    trusted: Any = iam.get_role(RoleName="task-u")["Role"]["AssumeRolePolicyDocument"]
    assert len(trusted["Statement"]) == 1


def test_a_role_that_is_gone_gives_no_credentials(agent: Agent) -> None:
    where = agent.enrol(TASK, "arn:aws:iam::123456789012:role/gone")["AWS_CONTAINER_CREDENTIALS_FULL_URI"]
    assert httpx.get(where).status_code == 500
