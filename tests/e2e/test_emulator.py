"""Where the emulator differs from AWS, and what `local/` and these tests do about it.

Each test fails once an emulator has closed the gap: then what fills it can go, and the contract can be tested here.
"""

import io
import json
import subprocess
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.environments import EMULATOR
from tests.e2e.conftest import Api, unique
from tests.e2e.deployed import assumed, operator

TRUST = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}


def test_it_ignores_the_routes_that_sam_declares_which_local_routes_adds() -> None:
    name = unique()
    body = {"openapi": "3.0.1", "info": {"title": name, "version": "1"}, "paths": {"/x": {"get": {"responses": {}}}}}
    template = {"Resources": {"Api": {"Type": "AWS::ApiGatewayV2::Api", "Properties": {"Body": body}}}}
    stacks, gateway = operator("cloudformation"), operator("apigatewayv2")
    stacks.create_stack(StackName=name, TemplateBody=json.dumps(template))
    try:
        stacks.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig={"Delay": 1})
        resource = stacks.describe_stack_resource(StackName=name, LogicalResourceId="Api")["StackResourceDetail"]
        assert gateway.get_routes(ApiId=resource["PhysicalResourceId"])["Items"] == []
    finally:
        stacks.delete_stack(StackName=name)


def test_it_wants_a_right_of_its_own_for_batches_which_local_permissions_adds() -> None:
    with queue_and_role() as (url, sqs, _):
        sqs.send_message(QueueUrl=url, MessageBody="x")
        with pytest.raises(ClientError, match="AccessDenied"):
            sqs.send_message_batch(QueueUrl=url, Entries=[{"Id": "0", "MessageBody": "x"}])


def test_it_names_a_role_without_its_path_which_local_permissions_does_too() -> None:
    iam, name = operator("iam"), unique()
    role = iam.create_role(Path="/naive/", RoleName=name, AssumeRolePolicyDocument=document(TRUST))["Role"]["Arn"]
    assert f":role/naive/{name}" in role
    try:
        for resource, allowed in ((role, False), (role.replace(":role/naive/", ":role/"), True)):
            right = {"Effect": "Allow", "Action": "iam:GetRole", "Resource": resource}
            iam.put_role_policy(RoleName=name, PolicyName="see", PolicyDocument=document(right))
            if allowed:
                assumed(role, "iam").get_role(RoleName=name)
            else:
                with pytest.raises(ClientError, match="AccessDenied"):
                    assumed(role, "iam").get_role(RoleName=name)
    finally:
        iam.delete_role_policy(RoleName=name, PolicyName="see")
        iam.delete_role(RoleName=name)


def test_it_shows_a_queues_policy_the_roles_session_which_stage_local_admits_too() -> None:
    with queue_and_role() as (url, sqs, role_arn):
        allow_only(url, role_arn)
        with pytest.raises(ClientError, match="AccessDenied"):
            sqs.send_message(QueueUrl=url, MessageBody="x")
        allow_only(url, role_arn.replace(":iam:", ":sts:").replace(":role/", ":assumed-role/") + "/*")
        sqs.send_message(QueueUrl=url, MessageBody="x")


def test_its_tasks_are_no_processes_so_that_local_runner_starts_them() -> None:
    ecs, name = operator("ecs"), unique()
    container = {"name": "x", "image": "no/such", "command": ["no-such-command"], "memory": 512}
    ecs.create_cluster(clusterName=name)
    ecs.register_task_definition(family=name, containerDefinitions=[container])
    (task,) = ecs.run_task(cluster=name, taskDefinition=name)["tasks"]
    assert task["lastStatus"] == "RUNNING", "on AWS it is PROVISIONING, and then stops"
    ecs.stop_task(cluster=name, task=task["taskArn"])
    ecs.deregister_task_definition(taskDefinition=f"{name}:1")
    ecs.delete_cluster(cluster=name)


def test_its_queues_tell_cloudwatch_nothing_so_that_local_runner_sets_their_alarms(api: Api) -> None:
    api.send(api.queue())
    assert operator("cloudwatch").list_metrics(Namespace="AWS/SQS")["Metrics"] == []


def test_it_judges_an_alarm_by_all_queues_so_that_local_runner_tells_it_no_metrics() -> None:
    cloudwatch, namespace = operator("cloudwatch"), unique()
    metrics = [{"MetricName": "Depth", "Dimensions": [{"Name": "QueueName", "Value": name}]} for name in ("a", "b")]
    names = [f"{namespace}-{number}" for number in range(2)]
    for name, metric in zip(names, metrics, strict=True):
        cloudwatch.put_metric_alarm(
            AlarmName=name,
            Namespace=namespace,
            **metric,
            Statistic="Maximum",
            Period=60,
            EvaluationPeriods=1,
            Threshold=0,
            ComparisonOperator="GreaterThanThreshold",
        )
    try:
        cloudwatch.put_metric_data(Namespace=namespace, MetricData=[{**metrics[0], "Value": 1}])
        found = cloudwatch.describe_alarms(AlarmNames=names)["MetricAlarms"]
        assert [alarm["StateValue"] for alarm in found] == ["ALARM", "ALARM"]
    finally:
        cloudwatch.delete_alarms(AlarmNames=names)


def test_it_gives_all_lines_of_a_log_group_and_no_token_which_local_serve_mends() -> None:
    script = """
import json
from ministack.services import cloudwatch_logs as logs
call = lambda action, **data: json.loads(getattr(logs, action)({"logGroupName": "g", **data})[2] or "{}")
call("_create_log_group")
for stream in "a/1", "b/1":
    call("_create_log_stream", logStreamName=stream)
    events = [{"timestamp": number, "message": stream} for number in (1, 2)]
    call("_put_log_events", logStreamName=stream, logEvents=events)
print(json.dumps([call("_filter_log_events", logStreamNamePrefix="b/"), call("_filter_log_events", limit=1)]))
"""
    # Without what mends it.
    run = subprocess.run([EMULATOR.python, "-c", script], capture_output=True, text=True, check=True)
    by_prefix, first = json.loads(run.stdout.splitlines()[-1])
    assert {event["logStreamName"] for event in by_prefix["events"]} == {"a/1", "b/1"}
    assert (len(first["events"]), "nextToken" in first) == (1, False)


def test_it_takes_a_change_of_a_lease_that_is_over_so_that_refusal_is_tested_without_it(api: Api) -> None:
    queue = api.queue()
    api.send(queue)
    (message,) = api.receive(queue, wait=5, visibility=1)
    time.sleep(1.5)
    body = {"receipt_handle": message["receipt_handle"], "visibility": 30}
    assert api("PATCH", f"/v1/queue/{queue}/messages", body).status_code == 200


def test_it_takes_a_late_ack_on_fifo_so_that_refusal_is_tested_without_it(api: Api) -> None:
    queue = api.queue(type="fifo")
    api.send(queue, group_id="g")
    (message,) = api.receive(queue, wait=5, visibility=1)
    time.sleep(1.5)
    api.ack(queue, message["receipt_handle"])


def test_it_feeds_whoever_may_not_receive_and_lets_anybody_stop_it_so_that_this_is_tested_without_it() -> None:
    with queue_and_role() as (url, _, role):
        lambdas, name = operator("lambda"), unique()
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("app.py", "def handler(event, context): pass")
        lambdas.create_function(
            FunctionName=name, Runtime="python3.13", Role=role, Handler="app.handler", Code={"ZipFile": file.getvalue()}
        )
        try:
            mapping = lambdas.create_event_source_mapping(EventSourceArn=arn(url), FunctionName=name)
            assert mapping["State"] == "Enabled", "on AWS it is Creating for some seconds"
            operator("sqs").send_message(QueueUrl=url, MessageBody="x")
            until_empty(url)
            assumed(role, "lambda").delete_event_source_mapping(UUID=mapping["UUID"])
            assert lambdas.list_event_source_mappings(FunctionName=name)["EventSourceMappings"] == []
        finally:
            lambdas.delete_function(FunctionName=name)


def until_empty(url: str) -> None:
    """Wait until all that was sent has been received and deleted."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    patience = time.monotonic() + 20
    while time.monotonic() < patience:
        counts = operator("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        if set(counts.values()) == {"0"}:
            return
        time.sleep(0.2)
    raise AssertionError(counts)


@contextmanager
def queue_and_role() -> Iterator[tuple[str, Any, str]]:
    """A queue, the client of a role that may send to it, and the role's ARN."""
    name = unique()
    sqs, iam = operator("sqs"), operator("iam")
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    right = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": arn(url)}
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=document(TRUST))["Role"]["Arn"]
    iam.put_role_policy(RoleName=name, PolicyName="send", PolicyDocument=document(right))
    try:
        yield url, assumed(role), role
    finally:
        sqs.delete_queue(QueueUrl=url)
        iam.delete_role_policy(RoleName=name, PolicyName="send")
        iam.delete_role(RoleName=name)


def allow_only(url: str, principal: str) -> None:
    """Give the queue a policy like ours."""
    condition = {"ArnNotLike": {"aws:PrincipalArn": [principal]}}
    deny = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "sqs:SendMessage",
        "Resource": arn(url),
        "Condition": condition,
    }
    operator("sqs").set_queue_attributes(QueueUrl=url, Attributes={"Policy": document(deny)})


def document(statement: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def arn(url: str) -> str:
    attributes: dict[str, str] = operator("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])[
        "Attributes"
    ]
    return attributes["QueueArn"]
