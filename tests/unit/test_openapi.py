"""openapi.json is what the code says, whole and valid, with examples that are true."""

import importlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

from docs.openapi.document import text
from docs.openapi.examples import OPERATIONS, REFUSALS
from tenancy.endpoint import Operation
from tenancy.errors import QueueError
from tests.openapi import COMMITTED, JSON, conform, document, judge, resolved
from tests.template import routes

ROUTES = {f"{method} {path}": folder for (method, path), folder in routes().items() if path != "*"}


def described() -> dict[str, Any]:
    return {
        f"{method.upper()} {path}": operation
        for path, operations in document()["paths"].items()
        for method, operation in operations.items()
    }


def operation_of(route: str) -> Operation:
    operation: Operation = importlib.import_module(f"functions.{ROUTES[route]}.app").handler.operation
    return operation


def tree(error: type[QueueError] = QueueError) -> Iterator[type[QueueError]]:
    yield error
    for below in error.__subclasses__():
        yield from tree(below)


def test_the_committed_document_is_what_the_code_says() -> None:
    assert COMMITTED.read_text(encoding="utf-8") == text(), "run `make docs`"


def test_it_is_valid_openapi() -> None:
    validate(document(), cls=OpenAPIV31SpecValidator)


def test_it_has_the_templates_routes_and_no_other() -> None:
    assert described().keys() == ROUTES.keys()


def test_every_operation_has_an_id_of_its_own() -> None:
    ids = {route: operation["operationId"] for route, operation in described().items()}
    assert len(set(ids.values())) == len(ids)
    assert all(name.removesuffix("_for_user") == ROUTES[route] for route, name in ids.items())


def test_every_operation_and_every_refusal_has_an_example() -> None:
    assert OPERATIONS.keys() == set(ROUTES.values())
    assert len(REFUSALS) == len({type(refusal) for refusal in REFUSALS})
    assert {type(refusal) for refusal in REFUSALS} == set(tree())


@pytest.mark.parametrize("route", ROUTES)
def test_an_operation_is_described_with_its_errors(route: str) -> None:
    operation = described()[route]
    assert operation["summary"]
    assert operation["description"]
    assert operation["tags"][0] in [tag["name"] for tag in document()["tags"]]
    success, *errors = operation["responses"]
    assert success.startswith("2")
    keyed = {"400", "401", "403", "404", "429", "500", "503"}
    assert set(errors) >= (keyed if "security" not in operation else {"429", "500"})
    assert ("413" in errors) == route.startswith(("POST", "PATCH"))


@pytest.mark.parametrize("route", ROUTES)
def test_what_is_the_companys_alone_is_forbidden_to_a_sealed_key(route: str) -> None:
    refused = described()[route]["responses"].get("403", {"content": {JSON: {"examples": {}}}})
    assert ("forbidden" in resolved(refused)["content"][JSON]["examples"]) == operation_of(route).unsealed


@pytest.mark.parametrize("route", ROUTES)
def test_whatever_takes_a_key_may_be_more_than_its_fair_share(route: str) -> None:
    limited = resolved(described()[route]["responses"]["429"])
    content = limited["content"][JSON]
    headers = {"Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}
    if not operation_of(route).keyed:
        assert "headers" not in limited
    else:
        assert limited["headers"].keys() >= headers
        assert content["examples"]["rate_limited"]["value"]["error"]["code"] == "rate_limited"
    conform(content["schema"], {"message": "Too Many Requests"})


@pytest.mark.parametrize("route", [route for route in ROUTES if operation_of(route).secret])
def test_a_secret_and_nothing_else_may_be_null_when_its_answer_is_given_again(route: str) -> None:
    secret, content = operation_of(route).secret, described()[route]["responses"]["201"]["content"][JSON]
    conform(content["schema"], content["example"] | {secret: None})
    with pytest.raises(ValueError):
        conform(content["schema"], content["example"] | {"created_at": None})


@pytest.mark.parametrize("route", ROUTES)
def test_the_examples_of_requests_are_requests(route: str) -> None:
    operation = described()[route]
    for parameter in map(resolved, operation.get("parameters", [])):
        if "example" in parameter:
            conform(parameter["schema"], parameter["example"])
    if "requestBody" in operation:
        content = operation["requestBody"]["content"][JSON]
        conform(content["schema"], content["example"])
    required = [p for p in map(resolved, operation.get("parameters", [])) if p.get("required")]
    assert all("example" in parameter for parameter in required)


@pytest.mark.parametrize("route", ROUTES)
def test_the_examples_of_answers_are_answers(route: str) -> None:
    success, *errors = described()[route]["responses"].items()
    status, response = success
    if status != "204":
        content = response["content"][JSON]
        conform(content["schema"], content["example"])
    for _, reference in errors:
        content = resolved(reference)["content"][JSON]
        shown = [example["value"] for example in content.get("examples", {}).values()] or [content["example"]]
        for answer in shown:
            conform(content["schema"], answer)


def test_the_entries_of_a_batch_and_of_a_settle_are_described_though_they_are_checked_one_by_one() -> None:
    schemas = document()["components"]["schemas"]
    assert schemas["NewMessages"]["properties"]["messages"]["items"] == {"$ref": "#/components/schemas/NewMessage"}
    settle = {name: field["anyOf"][0]["items"] for name, field in schemas["Settle"]["properties"].items()}
    assert settle == {
        "ack": {"type": "string"},
        "retry": {"$ref": "#/components/schemas/Retry"},
        "extend": {"$ref": "#/components/schemas/Extend"},
    }


HEADERS = {"X-Request-Id": "r", "Cache-Control": "no-store", "Content-Type": JSON}


@pytest.mark.parametrize(
    ("status", "headers", "answer"),
    [
        (200, HEADERS, '{"status": "ok", "more": 1}'),
        (200, HEADERS, '{"status": "fine"}'),
        (200, HEADERS | {"Content-Type": "text/plain"}, '{"status": "ok"}'),
        (200, {"Content-Type": JSON}, '{"status": "ok"}'),
        (418, HEADERS, '{"status": "ok"}'),
    ],
)
def test_the_judge_refuses_what_is_not_described(status: int, headers: dict[str, str], answer: str) -> None:
    judge("GET /health", 200, HEADERS, '{"status": "ok"}')
    with pytest.raises((AssertionError, ValueError)):
        judge("GET /health", status, headers, answer)


LIMITS = {"Retry-After": "1", "X-RateLimit-Limit": "200", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}


def test_the_judge_wants_to_know_how_to_go_on_of_our_429_and_not_of_the_gateways() -> None:
    ours = json.dumps({"error": {"code": "rate_limited", "message": "too many", "request_id": "r"}})
    judge("GET /v1/queue", 429, HEADERS | LIMITS, ours)
    judge("GET /v1/queue", 429, {"Content-Type": JSON}, '{"message": "Too Many Requests"}')
    for name in LIMITS:
        with pytest.raises(AssertionError):
            judge("GET /v1/queue", 429, {kept: text for kept, text in (HEADERS | LIMITS).items() if kept != name}, ours)
