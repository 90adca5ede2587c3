"""The deployed local stack, as whoever deployed it sees it: behind the API."""

import json
import os
from collections.abc import Iterator
from functools import cache
from typing import Any

import boto3


def environment(name: str) -> str:
    """A variable that the running stack sets."""
    return os.environ[name]


@cache
def operator(service: Any) -> Any:
    """The AWS client of whoever deployed the stack."""
    # A session of its own, since making a client of the default one is not safe where threads are.
    return boto3.session.Session().client(
        service,
        endpoint_url=environment("AWS_ENDPOINT_URL"),
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


def assumed(role: str, service: Any = "sqs") -> Any:
    """The AWS client of whoever has taken a role on, by its ARN."""
    session = operator("sts").assume_role(RoleArn=role, RoleSessionName="test")["Credentials"]
    return boto3.client(
        service,
        endpoint_url=environment("AWS_ENDPOINT_URL"),
        region_name="us-east-1",
        aws_access_key_id=session["AccessKeyId"],
        aws_secret_access_key=session["SecretAccessKey"],
        aws_session_token=session["SessionToken"],
    )


def output(name: str) -> str:
    """One of the stack's outputs."""
    (stack,) = operator("cloudformation").describe_stacks(StackName="naive-local")["Stacks"]
    outputs = {found["OutputKey"]: found["OutputValue"] for found in stack["Outputs"]}
    return str(outputs[name])


def invoked(operation: str, **event: Any) -> Any:
    """What a function answers to the operator."""
    answer = operator("lambda").invoke(FunctionName=f"naive-local-{operation}", Payload=json.dumps(event))
    said = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        raise RuntimeError(said)
    return said


def records(table: str) -> Iterator[Any]:
    """What is in a table of the stack."""
    found = operator("cloudformation").describe_stack_resource(StackName="naive-local", LogicalResourceId=table)
    name = found["StackResourceDetail"]["PhysicalResourceId"]
    for page in operator("dynamodb").get_paginator("scan").paginate(TableName=name):
        yield from page["Items"]
