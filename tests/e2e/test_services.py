"""What the local stack's runner does: the commands of services as processes, and the alarms of queues."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from operator import eq
from pathlib import Path
from typing import Any

import pytest

from local import processes
from tests.e2e.conftest import Api, client, eventually, unique
from tests.e2e.deployed import invoked, operator

WORKER = """
import os, signal, time, httpx

def end(*_):
    print("told to end", flush=True)
    time.sleep(1)
    print("has ended", flush=True)
    raise SystemExit

signal.signal(signal.SIGTERM, end)
print(*sorted(name for name in os.environ if name in ("A", "NAIVE_API_KEY", "NAIVE_BASE_URL", "NAIVE_QUEUE_ID")))
key = {"Authorization": "Bearer " + os.environ["NAIVE_API_KEY"]}
print("default user:", httpx.get(os.environ["NAIVE_BASE_URL"] + "/v1/users/me", headers=key).json()["is_default"])
print("in", os.listdir(), flush=True)
while True:
    time.sleep(1)
"""
IDENTITY = "import boto3; print(boto3.client('sts').get_caller_identity()['Arn'])"


@pytest.fixture
def own() -> Iterator[Api]:
    """The client of a company that has nothing else."""
    with client(invoked("bootstrap", company=unique())["api_key"]) as http:
        yield Api(http)


@contextmanager
def running(own: Api, *command: str, **settings: Any) -> Iterator[str]:
    """The id of a service with this command."""
    service = own.service(command=[*command], **settings)
    try:
        yield service
    finally:
        own("DELETE", f"/v1/compute/{service}")


def run_with(mark: str) -> int:
    """How many processes have this in their command line."""
    return sum(mark in process.command for process in processes.running())


def lines(own: Api, service: str, limit: int = 1000) -> list[str]:
    """All that its tasks have written, page by page."""
    found, cursor = list[str](), dict[str, Any]()
    while True:
        answer = own("GET", f"/v1/compute/{service}/logs", limit=limit, **cursor).json()
        found += [line["message"] for line in answer["lines"]]
        if answer["next_cursor"] is None:
            return found
        cursor = {"cursor": answer["next_cursor"]}


def test_a_service_runs_its_command_as_often_as_it_is_scaled_to_until_it_is_deleted(own: Api) -> None:
    mark = unique()
    with running(own, "python", "-X", mark, "-c", WORKER, env={"A": "1"}) as service:
        path = f"/v1/compute/{service}"
        said = eventually(lambda: lines(own, service), lambda said: len(said) >= 3)
        assert said == ["A NAIVE_API_KEY NAIVE_BASE_URL", "default user: True", "in []"]
        assert own("POST", f"{path}/scale", {"count": 2}).status_code == 200
        eventually(lambda: lines(own, service).count("in []"), partial(eq, 2))
        assert run_with(mark) == 2
        assert own("POST", f"{path}/stop").status_code == 200
        eventually(lambda: lines(own, service).count("has ended"), partial(eq, 2))
        eventually(lambda: run_with(mark), partial(eq, 0))
        assert own("POST", f"{path}/start").status_code == 200
        eventually(lambda: lines(own, service).count("in []"), partial(eq, 3))
    eventually(lambda: run_with(mark), lambda there: there == 0)


def test_a_task_has_the_role_of_its_user_in_aws(own: Api) -> None:
    with running(own, "python", "-c", IDENTITY) as service:
        (arn,) = eventually(lambda: lines(own, service), bool)[:1]
        role, _, task = arn.partition(":assumed-role/")[2].partition("/")
        assert role.startswith("task-")
        assert len(task) == 32


def test_a_worker_that_is_scaled_to_none_finishes_the_message_that_it_holds(own: Api, tmp_path: Path) -> None:
    queue, mark = own.queue(), tmp_path / unique()
    work = ["naive", "queue", "work", queue, "--exec", f"until [ -e {mark} ]; do sleep 0.1; done; cat"]
    with running(own, *work) as service:
        own.send(queue, "slow\n")
        eventually(lambda: run_with(f"sh -c until [ -e {mark} ]"), partial(eq, 1))
        assert own("POST", f"/v1/compute/{service}/stop").status_code == 200
        mark.touch()
        eventually(lambda: run_with(str(mark)), partial(eq, 0))
        said = eventually(lambda: lines(own, service), lambda said: any(line.startswith("{") for line in said))
        assert "slow" in said
        done = [json.loads(line) for line in said if line.startswith("{")]
        assert [(message["outcome"], message["receive_count"]) for message in done] == [("done", 1)]
        counts = own.counts(queue)
        assert (counts["depth"], counts["in_flight"]) == (0, 0)


def test_a_service_that_cannot_run_here_says_why_once(own: Api) -> None:
    with running(own, "no-such-command") as service:
        assert eventually(lambda: lines(own, service), bool) == [
            "no-such-command cannot be run: No such file or directory."
        ]


def test_lines_are_read_page_by_page_whatever_others_write_meanwhile(own: Api) -> None:
    with running(own, "sh", "-c", "seq 1 100000; sleep 600"), running(own, "sh", "-c", "seq 1 250; sleep 600") as quiet:
        eventually(lambda: lines(own, quiet), lambda said: len(said) >= 250)
        assert lines(own, quiet, limit=100) == [str(number) for number in range(1, 251)]


def test_an_alarm_goes_by_the_depth_of_its_own_queue() -> None:
    sqs, alarms = operator("sqs"), operator("cloudwatch")
    busy, idle = unique(), unique()
    urls = [sqs.create_queue(QueueName=name)["QueueUrl"] for name in (busy, idle)]
    for name in busy, idle:
        alarms.put_metric_alarm(
            AlarmName=name,
            Namespace="AWS/SQS",
            MetricName="ApproximateNumberOfMessagesVisible",
            Dimensions=[{"Name": "QueueName", "Value": name}],
            Statistic="Maximum",
            Period=60,
            EvaluationPeriods=1,
            Threshold=0,
            ComparisonOperator="GreaterThanThreshold",
        )

    def states() -> list[str]:
        found = alarms.describe_alarms(AlarmNames=[busy, idle])["MetricAlarms"]
        return [next(alarm["StateValue"] for alarm in found if alarm["AlarmName"] == name) for name in (busy, idle)]

    try:
        eventually(states, lambda states: states == ["OK", "OK"])
        sqs.send_message(QueueUrl=urls[0], MessageBody="x")
        eventually(states, lambda states: states == ["ALARM", "OK"])
        sqs.purge_queue(QueueUrl=urls[0])
        eventually(states, lambda states: states == ["OK", "OK"])
    finally:
        alarms.delete_alarms(AlarmNames=[busy, idle])
        for url in urls:
            sqs.delete_queue(QueueUrl=url)
