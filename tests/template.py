"""template.yaml as data, for tests that hold the code against it."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from local import routes as local_routes
from local.environments import SAM

ROOT = Path(__file__).parent.parent


class _Loader(yaml.SafeLoader):
    """Reads CloudFormation's short forms as the long ones."""


def _intrinsic(loader: yaml.SafeLoader, tag: str, node: yaml.Node) -> dict[str, Any]:
    name = tag if tag in ("Ref", "Condition") else f"Fn::{tag}"
    if isinstance(node, yaml.ScalarNode):
        return {name: loader.construct_scalar(node)}
    if isinstance(node, yaml.SequenceNode):
        return {name: loader.construct_sequence(node, deep=True)}
    assert isinstance(node, yaml.MappingNode)
    return {name: loader.construct_mapping(node, deep=True)}


_Loader.add_multi_constructor("!", _intrinsic)


@cache
def template() -> dict[str, Any]:
    """The whole template."""
    loaded: dict[str, Any] = yaml.load((ROOT / "template.yaml").read_text(), _Loader)
    return loaded


@cache
def translated() -> dict[str, Any]:
    """What SAM makes of the template: what CloudFormation gets."""
    assert SAM.python.exists(), "SAM's environment is missing: run 'make setup' first"
    return local_routes.translated(ROOT / "template.yaml")


def resource(name: str) -> dict[str, Any]:
    """One resource's properties."""
    properties: dict[str, Any] = template()["Resources"][name]["Properties"]
    return properties


@cache
def routes() -> dict[tuple[str, str], str]:
    """Method and path of each route, and the function's folder; the default route is ("*", "*")."""
    found = {}
    for properties in functions().values():
        for event in properties.get("Events", {}).values():
            if event["Type"] == "HttpApi":
                route = event["Properties"].get("Method", "*"), event["Properties"].get("Path", "*")
                assert route not in found, f"{route} stands twice"
                found[route] = properties["CodeUri"].removeprefix("functions/")
    return found


def functions() -> dict[str, dict[str, Any]]:
    """The properties of each function by logical id, the globals under its own."""
    resources = template()["Resources"].items()
    shared = template()["Globals"]["Function"]
    return {n: shared | r["Properties"] for n, r in resources if r["Type"] == "AWS::Serverless::Function"}


def match(method: str, path: str) -> tuple[str, str, dict[str, str]]:
    """The folder, route key and path parameters of a request, as API Gateway would choose them."""
    best: tuple[str, str, dict[str, str]] | None = None
    for (verb, pattern), folder in sorted(routes().items(), key=lambda item: item[0][1].count("{")):
        expression = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(pattern))
        if verb == method and (found := re.fullmatch(expression, path)):
            best = best or (folder, f"{verb} {pattern}", found.groupdict())
    return best or (routes()["*", "*"], "$default", {})
