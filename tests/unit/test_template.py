"""The template and the code agree."""

import json
import re
from typing import Any

import pytest

from tests.template import ROOT, functions, resource, routes, template

LOG_NAMES = {"AccessLogs", "FunctionLogs"}
NO_ROUTE = {"functions/bootstrap"}


def statements(properties: dict[str, Any]) -> list[dict[str, Any]]:
    return [statement for policy in properties.get("Policies", []) for statement in policy["Statement"]]


def test_every_function_has_a_folder_with_its_app_alone_and_every_folder_a_function() -> None:
    folders = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("functions/*")}
    assert {properties["CodeUri"] for properties in functions().values()} == folders
    for folder in folders:
        assert {path.name for path in (ROOT / folder).iterdir()} - {"__pycache__"} == {"app.py"}


def test_every_function_has_a_route_but_the_operators() -> None:
    without = {properties["CodeUri"] for properties in functions().values() if not properties.get("Events")}
    assert without == NO_ROUTE
    assert routes()["*", "*"] == "not_found"


@pytest.mark.parametrize("name", functions())
def test_an_operations_docstring_names_its_route(name: str) -> None:
    properties = functions()[name]
    first = (ROOT / properties["CodeUri"] / "app.py").read_text().partition("\n")[0]
    own = [f"{m} {p}" for (m, p), folder in routes().items() if f"functions/{folder}" == properties["CodeUri"]]
    if own and own != ["* *"]:
        assert first.startswith(f'"""{min(own, key=len)}: ')


@pytest.mark.parametrize("name", functions())
def test_a_policy_has_its_version_and_names_actions_and_resources(name: str) -> None:
    properties = functions()[name]
    assert all(policy["Version"] == "2012-10-17" for policy in properties.get("Policies", []))
    for statement in statements(properties):
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        assert statement["Resource"] != "*"
        assert all(re.fullmatch(r"(dynamodb|sqs):[A-Z][A-Za-z]+", action) for action in actions)
        if any(action.startswith("sqs:") for action in actions):
            assert ":nv-${Stage}-" in json.dumps(statement["Resource"])


def test_roles_live_under_one_path_that_the_queues_policies_admit() -> None:
    path = template()["Globals"]["Function"]["RolePath"]["Fn::Sub"]
    assert path == "/naive/${Stage}/platform/"
    principals = json.dumps(template()["Globals"]["Function"]["Environment"]["Variables"]["QUEUE_PRINCIPALS"])
    assert f"role{path}*" in principals


def test_logs_are_declared_and_end() -> None:
    for name in LOG_NAMES:
        assert resource(name)["RetentionInDays"] == {"Ref": "LogRetentionDays"}
    assert template()["Globals"]["Function"]["LoggingConfig"]["LogGroup"] == {"Ref": "FunctionLogs"}


def test_the_access_log_has_no_query_string() -> None:
    written = resource("Api")["AccessLogSettings"]["Format"]
    assert "$context.path" in written
    assert not re.search("query|authorization|routeQuery", written, re.IGNORECASE)
    json.loads(written)


def test_the_api_is_throttled() -> None:
    settings = resource("Api")["DefaultRouteSettings"]
    assert settings["ThrottlingRateLimit"] == {"Ref": "ThrottleRate"}
    assert settings["ThrottlingBurstLimit"] == {"Ref": "ThrottleBurst"}


def test_the_registry_outlives_its_stack_and_mistakes() -> None:
    registry = template()["Resources"]["Registry"]
    assert (registry["DeletionPolicy"], registry["UpdateReplacePolicy"]) == ("Retain", "Retain")
    assert registry["Properties"]["DeletionProtectionEnabled"] is True
    assert registry["Properties"]["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert registry["Properties"]["BillingMode"] == "PAY_PER_REQUEST"


def test_no_function_outlives_the_gateways_thirty_seconds() -> None:
    assert max(properties["Timeout"] for properties in functions().values()) <= 28


def test_the_sample_events_are_the_templates_routes() -> None:
    event = json.loads((ROOT / "events/send_message.json").read_text())
    method, _, path = event["routeKey"].partition(" ")
    assert routes()[method, path] == "send_message"
