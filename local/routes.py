"""The HTTP API's routes: SAM declares them in an OpenAPI body, which the emulator ignores, so they are added here."""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.deploy import resource_ids
from local.environments import ROOT, SAM
from local.stack import Stack
from local.steps import LocalError


@dataclass(frozen=True)
class Route:
    """A route that the emulator has."""

    id: str
    key: str
    function: str


@dataclass(frozen=True)
class Plan:
    """What makes the emulator's routes those of the template."""

    add: dict[str, str]
    remove: list[Route]


def plan(wanted: dict[str, str], existing: list[Route]) -> Plan:
    """Compares the template's routes (key to function) with the emulator's."""
    kept = {route.key: route for route in existing if wanted.get(route.key) == route.function}
    return Plan(
        add={key: function for key, function in wanted.items() if key not in kept},
        remove=[route for route in existing if kept.get(route.key) is not route],
    )


def sync(stack: Stack) -> None:
    """Adds the routes that are missing and removes those the template has no more."""
    apis = stack.client("apigatewayv2")
    physical = resource_ids(stack)
    arns = _function_arns(stack)
    for api, routes in declared(ROOT / "template.yaml").items():
        api_id = physical[api]
        integrations = {
            found["IntegrationId"]: found["IntegrationUri"]
            for page in apis.get_paginator("get_integrations").paginate(ApiId=api_id)
            for found in page["Items"]
        }
        existing = [
            Route(found["RouteId"], found["RouteKey"], integrations.get(found["Target"].rpartition("/")[2], ""))
            for page in apis.get_paginator("get_routes").paginate(ApiId=api_id)
            for found in page["Items"]
        ]
        todo = plan({key: arns[physical[function]] for key, function in routes.items()}, existing)
        for route in todo.remove:
            apis.delete_route(ApiId=api_id, RouteId=route.id)
        by_function = {function: integration for integration, function in integrations.items()}
        for key, function in todo.add.items():
            if function not in by_function:
                made = apis.create_integration(
                    ApiId=api_id, IntegrationType="AWS_PROXY", IntegrationUri=function, PayloadFormatVersion="2.0"
                )
                by_function[function] = made["IntegrationId"]
            apis.create_route(ApiId=api_id, RouteKey=key, Target=f"integrations/{by_function[function]}")


def declared(template: Path) -> dict[str, dict[str, str]]:
    """The template's routes, per API: key to the logical id of the function."""
    return {
        logical_id: routes_of(resource["Properties"]["Body"]["paths"])
        for logical_id, resource in translated(template)["Resources"].items()
        if resource["Type"] == "AWS::ApiGatewayV2::Api"
    }


def translated(template: Path) -> dict[str, Any]:
    """What SAM makes of the template."""
    command = [SAM.python, ROOT / "local" / "translate.py", template]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LocalError(f"{done.stderr.strip()}\n{template.name} could not be translated: see above.")
    return dict(json.loads(done.stdout))


def routes_of(paths: dict[str, Any]) -> dict[str, str]:
    """The routes of an OpenAPI body: key to the logical id of the function."""
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


def _function_arns(stack: Stack) -> dict[str, str]:
    pages = stack.client("lambda").get_paginator("list_functions").paginate()
    return {found["FunctionName"]: found["FunctionArn"] for page in pages for found in page["Functions"]}
