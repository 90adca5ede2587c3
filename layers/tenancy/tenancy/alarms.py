"""The depth alarm of a queue with a service: CloudWatch sees what no sender told us of, such as a native send."""

from typing import TYPE_CHECKING

from tenancy import queues
from tenancy.aws import ALARM_TOPIC, client, reaching_aws
from tenancy.registry import Queue

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

_cloudwatch: "CloudWatchClient" = client("cloudwatch")
_SECONDS = 60
"""How often SQS tells CloudWatch its counts."""


def put(queue: Queue) -> None:
    """Let the alarm go off when the queue has messages that are ready, if it does not yet."""
    name = queues.name(queue)
    with reaching_aws():
        _cloudwatch.put_metric_alarm(
            AlarmName=name,
            AlarmDescription="Wakes the service that works this queue off.",
            Namespace="AWS/SQS",
            MetricName="ApproximateNumberOfMessagesVisible",
            Dimensions=[{"Name": "QueueName", "Value": name}],
            Statistic="Maximum",
            Period=_SECONDS,
            EvaluationPeriods=1,
            Threshold=1,
            ComparisonOperator="GreaterThanOrEqualToThreshold",
            TreatMissingData="notBreaching",
            AlarmActions=[ALARM_TOPIC],
        )


def delete(queue: Queue) -> None:
    """Remove the alarm, if it is there."""
    with reaching_aws():
        _cloudwatch.delete_alarms(AlarmNames=[queues.name(queue)])
