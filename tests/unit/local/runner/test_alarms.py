"""Alarms that watch queues go by what the queues say."""

from typing import Any

import boto3
import pytest

from local.runner import alarms
from local.stack import Stack


@pytest.fixture
def aws(stack: Stack) -> tuple[Any, Any]:
    return boto3.client("cloudwatch"), boto3.client("sqs")


def watch(cloudwatch: Any, queue: str, **settings: Any) -> None:
    alarm = {
        "AlarmName": queue,
        "Namespace": "AWS/SQS",
        "MetricName": "ApproximateNumberOfMessagesVisible",
        "Dimensions": [{"Name": "QueueName", "Value": queue}],
        "Statistic": "Maximum",
        "Period": 60,
        "EvaluationPeriods": 1,
        "Threshold": 0,
        "ComparisonOperator": "GreaterThanThreshold",
    }
    cloudwatch.put_metric_alarm(**alarm | settings)


def states(cloudwatch: Any) -> dict[str, str]:
    return {alarm["AlarmName"]: alarm["StateValue"] for alarm in cloudwatch.describe_alarms()["MetricAlarms"]}


def test_an_alarm_fires_and_goes_back_with_its_own_queue(aws: tuple[Any, Any]) -> None:
    cloudwatch, sqs = aws
    url = sqs.create_queue(QueueName="busy")["QueueUrl"]
    sqs.create_queue(QueueName="idle")
    watch(cloudwatch, "busy")
    watch(cloudwatch, "idle")
    for change, state in (
        (lambda: None, "OK"),
        (lambda: sqs.send_message(QueueUrl=url, MessageBody="x"), "ALARM"),
        (lambda: sqs.purge_queue(QueueUrl=url), "OK"),
    ):
        change()
        alarms.look(cloudwatch, sqs)
        assert states(cloudwatch) == {"busy": state, "idle": "OK"}


def test_its_threshold_counts(aws: tuple[Any, Any]) -> None:
    cloudwatch, sqs = aws
    url = sqs.create_queue(QueueName="q")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="x")
    for operator, threshold, state in (
        ("GreaterThanThreshold", 1, "OK"),
        ("GreaterThanOrEqualToThreshold", 1, "ALARM"),
        ("GreaterThanOrEqualToThreshold", 2, "OK"),
    ):
        watch(cloudwatch, "q", ComparisonOperator=operator, Threshold=threshold)
        alarms.look(cloudwatch, sqs)
        assert states(cloudwatch) == {"q": state}


def test_a_state_that_has_not_changed_is_not_set_again(aws: tuple[Any, Any]) -> None:
    cloudwatch, sqs = aws
    sqs.create_queue(QueueName="q")
    watch(cloudwatch, "q")
    alarms.look(cloudwatch, sqs)
    (before,) = cloudwatch.describe_alarms()["MetricAlarms"]
    alarms.look(cloudwatch, sqs)
    (after,) = cloudwatch.describe_alarms()["MetricAlarms"]
    assert after["StateUpdatedTimestamp"] == before["StateUpdatedTimestamp"]


def test_alarms_of_other_things_and_of_queues_that_are_gone_are_left_alone(aws: tuple[Any, Any]) -> None:
    cloudwatch, sqs = aws
    watch(cloudwatch, "gone")
    watch(cloudwatch, "other", MetricName="ApproximateAgeOfOldestMessage")
    before = states(cloudwatch)
    sqs.create_queue(QueueName="other")
    alarms.look(cloudwatch, sqs)
    assert states(cloudwatch) == before


def test_many_alarms_are_all_looked_at(aws: tuple[Any, Any]) -> None:
    cloudwatch, sqs = aws
    names = [f"q{number}" for number in range(120)]
    for name in names:
        sqs.create_queue(QueueName=name)
        watch(cloudwatch, name)
    alarms.look(cloudwatch, sqs)
    pages = cloudwatch.get_paginator("describe_alarms").paginate()
    assert {alarm["StateValue"] for page in pages for alarm in page["MetricAlarms"]} == {"OK"}


def test_an_alarm_that_is_deleted_meanwhile_keeps_no_other_from_its_state(
    aws: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    cloudwatch, sqs = aws
    for name in "deleted", "there":
        sqs.create_queue(QueueName=name)
        watch(cloudwatch, name)
    found = list(alarms._alarms(cloudwatch))
    cloudwatch.delete_alarms(AlarmNames=["deleted"])
    monkeypatch.setattr(alarms, "_alarms", lambda _: found)
    alarms.look(cloudwatch, sqs)
    assert states(cloudwatch) == {"there": "OK"}
