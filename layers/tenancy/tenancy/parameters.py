"""The keys of services' tasks in Systems Manager, from where ECS gives them to the tasks: no other place has a key."""

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from tenancy.aws import client, error_code, reaching_aws
from tenancy.registry import Service
from tenancy.tasks import key_parameter

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

_ssm: "SSMClient" = client("ssm")


def keep_key(service: Service, api_key: str) -> None:
    """Store the key of the service's tasks, encrypted."""
    with reaching_aws():
        _ssm.put_parameter(Name=key_parameter(service), Value=api_key, Type="SecureString", Overwrite=True)


def remove_key(service: Service) -> None:
    """Remove the key of the service's tasks, if it is there."""
    try:
        with reaching_aws():
            _ssm.delete_parameter(Name=key_parameter(service))
    except ClientError as fault:
        if error_code(fault) != "ParameterNotFound":
            raise
