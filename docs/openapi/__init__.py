"""Describes the HTTP API in OpenAPI. Functions are imported as Lambda does it: with the variables of the template."""

import os
import re
from typing import Any

from tests.template import functions, template


def _value(given: Any) -> str:
    """A variable's value; of a parameter its default, and of a resource, which is not there, a dash."""
    if isinstance(given, dict) and "Fn::Sub" in given:
        return re.sub(r"\$\{.*?\}", "-", given["Fn::Sub"])
    if isinstance(given, dict):
        return str(template()["Parameters"].get(given.get("Ref"), {}).get("Default", "-"))
    return str(given)


for _properties in (template()["Globals"]["Function"], *functions().values()):
    for _name, _given in _properties["Environment"]["Variables"].items():
        os.environ.setdefault(_name, _value(_given))
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
os.environ.setdefault("AWS_LAMBDA_FUNCTION_NAME", "-")
