"""Describes the HTTP API in OpenAPI. Functions are imported as Lambda does it: with the variables of the template."""

import os

from tests.template import template

for _name, _value in template()["Globals"]["Function"]["Environment"]["Variables"].items():
    os.environ.setdefault(_name, _value if isinstance(_value, str) else "-")
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
os.environ.setdefault("AWS_LAMBDA_FUNCTION_NAME", "-")
