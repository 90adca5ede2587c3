"""Alarms that watch the depth of a queue: the emulator's SQS tells its CloudWatch nothing.

Their state is set here, from what the queue says. Metrics would not do: the emulator judges an alarm by the metrics of
all queues, so the work of one would hold the alarms of all.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local.stack import IMPATIENT, Stack

_PAUSE_SECONDS = 1
_METRIC = {"Namespace": "AWS/SQS", "MetricName": "ApproximateNumberOfMessagesVisible"}
_BREACHING = {
    "GreaterThanThreshold": lambda depth, threshold: depth > threshold,
    "GreaterThanOrEqualToThreshold": lambda depth, threshold: depth >= threshold,
}


def start_watching(stack: Stack) -> None:
    """Goes on for ever, in the background."""
    clients = stack.client("cloudwatch", **IMPATIENT), stack.client("sqs", **IMPATIENT)
    threading.Thread(target=_watch, args=clients, daemon=True).start()


def _watch(cloudwatch: Any, sqs: Any) -> None:
    """What fails is tried again in the next round."""
    while True:
        try:
            look(cloudwatch, sqs)
        except (BotoCoreError, ClientError) as fault:
            print(f"The alarms of queues: {fault}", flush=True)
        time.sleep(_PAUSE_SECONDS)


def look(cloudwatch: Any, sqs: Any) -> None:
    """Gives each alarm that watches a queue the state that the queue has come to."""
    for alarm in _alarms(cloudwatch):
        # Either may be deleted meanwhile.
        with suppress(sqs.exceptions.QueueDoesNotExist, cloudwatch.exceptions.ResourceNotFound):
            _judge(cloudwatch, sqs, alarm)


def _alarms(cloudwatch: Any) -> Iterator[Any]:
    for page in cloudwatch.get_paginator("describe_alarms").paginate():
        yield from (alarm for alarm in page["MetricAlarms"] if _METRIC.items() <= alarm.items())


def _judge(cloudwatch: Any, sqs: Any, alarm: Any) -> None:
    (queue,) = (dimension["Value"] for dimension in alarm["Dimensions"] if dimension["Name"] == "QueueName")
    depth = _depth(sqs, queue)
    state = "ALARM" if _BREACHING[alarm["ComparisonOperator"]](depth, alarm["Threshold"]) else "OK"
    if alarm["StateValue"] != state:
        reason = f"{depth} messages are ready"
        cloudwatch.set_alarm_state(AlarmName=alarm["AlarmName"], StateValue=state, StateReason=reason)


def _depth(sqs: Any, queue: str) -> int:
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    answer = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
    return int(answer["Attributes"]["ApproximateNumberOfMessages"])
