"""The Lambda functions that whoever operates the service has deployed for a company, which a tag says."""

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from tenancy.aws import QUEUE_ARN_PREFIX, client, error_code, reaching_aws
from tenancy.errors import InvalidInput

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

TAG = "naive:company"
"""On a function, the id of the company that may bind it to its queues."""

functions: "LambdaClient" = client("lambda")

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_OURS = re.compile(r"arn:[^:]+:iam::[0-9]+:role/naive/[^/]+/platform/.+")
"""The roles of our own functions, of any stage."""
_ARN_PREFIX = QUEUE_ARN_PREFIX.replace(":sqs:", ":lambda:", 1) + ":function:"


@dataclass(frozen=True, slots=True)
class Function:
    """A Lambda function: under which role it runs, and for how many seconds at most."""

    name: str
    role: str
    timeout: int


def find(company: str, name: str) -> Function:
    """The company's function of that name. Raises InvalidInput, the same one whatever is wrong with any other name."""
    if not _NAME.fullmatch(name):
        raise refused()
    try:
        with reaching_aws():
            if functions.list_tags(Resource=_ARN_PREFIX + name)["Tags"].get(TAG) != company:
                raise refused()
            found = functions.get_function_configuration(FunctionName=name)
    except ClientError as fault:
        if error_code(fault) == "ResourceNotFoundException":
            raise refused() from fault
        raise
    if _OURS.fullmatch(found["Role"]):
        raise refused()
    return Function(name, found["Role"], found["Timeout"])


def names(company: str) -> list[str]:
    """The names of the company's functions. One that was tagged just now may not be among them yet."""
    found: list[str] = []
    token = ""
    while True:
        with reaching_aws():
            answer = _tagging().get_resources(
                ResourceTypeFilters=["lambda:function"],
                TagFilters=[{"Key": TAG, "Values": [company]}],
                PaginationToken=token,
            )
        found += [resource["ResourceARN"].rpartition(":")[2] for resource in answer["ResourceTagMappingList"]]
        token = answer.get("PaginationToken", "")
        if not token:
            return sorted(found)


def refused() -> InvalidInput:
    """The refusal of a function that is not one of the company's."""
    return InvalidInput(
        "function must be the name of a Lambda function that was deployed for your company",
        hint="GET /v1/limits with your key lists them; whoever operates the service deploys functions and tags them.",
        field="function",
    )


@cache
def _tagging() -> Any:
    return client("resourcegroupstaggingapi")
