"""The functions that an operator invokes, as on AWS."""

import json
from typing import Any

from local import deploy
from local.stack import Stack
from local.steps import LocalError


def invoke(stack: Stack, output: str, payload: dict[str, Any]) -> Any:
    """What the function that this output of the stack names answers."""
    function = deploy.outputs(stack)[output]
    answer = stack.client("lambda", read_timeout=90).invoke(FunctionName=function, Payload=json.dumps(payload))
    result = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        raise LocalError(f"{function} failed: {result.get('errorMessage', result)}")
    return result
