"""Prints the route keys of a SAM template's HTTP APIs, each with the logical id of its function, as JSON.

A script of its own, run by the emulator's interpreter: the translator pins packages, which must not hold ours back.
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

# The environment that the types are checked in does not have it.
from samtranslator.translator.transform import transform  # type: ignore[import-not-found]
from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-not-found]


class NoManagedPolicies:
    """In place of the translator's loader, which asks IAM for a list that routes do not need."""

    def load(self) -> dict[str, str]:
        return {}


def routes(template: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Per HTTP API, by logical id: route key to the logical id of the function that serves it."""
    for resource in template["Resources"].values():
        for name in ("CodeUri", "ContentUri"):
            if name in resource.get("Properties", {}):
                resource["Properties"][name] = "s3://bucket/key"
    translated = transform(template, {}, NoManagedPolicies())
    return {
        logical_id: _routes_of(resource["Properties"]["Body"]["paths"])
        for logical_id, resource in translated["Resources"].items()
        if resource["Type"] == "AWS::ApiGatewayV2::Api"
    }


def _routes_of(paths: dict[str, Any]) -> dict[str, str]:
    found = {}
    for path, operations in paths.items():
        for method, operation in operations.items():
            uri = json.dumps(operation["x-amazon-apigateway-integration"]["uri"])
            found[_key(path, method)] = re.findall(r"\$\{(\w+)\.Arn\}/invocations", uri)[0]
    return found


def _key(path: str, method: str) -> str:
    if path == "/$default":
        return "$default"
    return f"{'ANY' if method == 'x-amazon-apigateway-any-method' else method.upper()} {path}"


if __name__ == "__main__":
    os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
    print(json.dumps(routes(yaml_parse(Path(sys.argv[1]).read_text()))))
