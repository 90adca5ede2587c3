"""What the gateway and Lambda do with a request on its way to our code, and what they log of it."""

import json
import time
from typing import Any

from tests.smoke.deployment import Deployment, said
from tests.smoke.runner import Check, Unmet, expect

LOGGED_WITHIN = 60


def a_receive_may_wait_for_20_seconds(deployment: Deployment) -> None:
    """The gateway and Lambda must leave a long poll the time it asks for, and answer before the gateway's 30 s."""
    with deployment.queue() as queue:
        started = time.monotonic()
        received = deployment.done(200, "GET", f"/v1/queue/{queue['id']}/messages", wait=20)
        took = time.monotonic() - started
    expect(received, {"messages": []})
    if not 19 < took < 27:
        raise Unmet(f"an answer after {took:.1f} s, not between 19 and 27")


def options_is_answered_by_the_service(deployment: Deployment) -> None:
    """The gateway must hand OPTIONS to the default route, since the API has no CORS settings."""
    expect(said(deployment.call("OPTIONS", "/v1/queue")), "404 not_found")


def bytes_that_are_no_utf_8_are_refused(deployment: Deployment) -> None:
    """What is sent as JSON and is no UTF-8 must be refused somewhere on the way, and never stored changed."""
    with deployment.queue() as queue:
        path, headers = f"/v1/queue/{queue['id']}/messages", {"Content-Type": "application/json"}
        answer = deployment.call("POST", path, content=b'{"body": "\xff"}', headers=headers)
    expect(answer.status_code, 400)


def a_request_above_6_mb_is_refused_by_the_gateway(deployment: Deployment) -> None:
    """Lambda takes no event of that size, so the gateway must answer in its own shape, which clients know."""
    body = b'{"name": "' + b"x" * (7 * 1024 * 1024) + b'"}'
    answer = deployment.call("POST", "/v1/queue", content=body)
    if answer.status_code < 400 or "of the gateway" not in said(answer):
        raise Unmet(f"{said(answer)}, not an error of the gateway")


def the_access_log_holds_no_receipt_handle(deployment: Deployment) -> None:
    """API Gateway must log each request with the path alone: a query string holds receipt handles."""
    handle, lines = _logged_ack(deployment, "access")
    seen = [(entry["route"], entry["status"]) for entry in map(json.loads, lines)]
    expect(seen, [("DELETE /v1/queue/{id}/messages", "204")])
    _expect_absent({"the handle": handle, "receipt_handle": "receipt_handle", "a query": "?"}, lines)


def the_function_log_holds_no_receipt_handle(deployment: Deployment) -> None:
    """Lambda must write to the stack's log group, one line a request, without what the request was sent with."""
    handle, lines = _logged_ack(deployment, "functions")
    expect(len(lines), 1)
    _expect_absent({"the handle": handle, "receipt_handle": "receipt_handle", "a key": "nv_sk_live_"}, lines)


def _logged_ack(deployment: Deployment, group: str) -> tuple[str, list[str]]:
    """The handle of an ack, and the lines that a log group of the stack has about it."""
    since = int((time.time() - 60) * 1000)
    with deployment.queue() as queue:
        path = f"/v1/queue/{queue['id']}/messages"
        deployment.done(201, "POST", path, {"body": "work"})
        (message,) = deployment.done(200, "GET", path, wait=20)["messages"]
        handle = message["receipt_handle"]
        answer = deployment.call("DELETE", path, receipt_handle=handle)
        expect(said(answer), "204")
    found = {
        "logGroupName": f"/naive/{deployment.stage}/{group}",
        "filterPattern": f'"{answer.headers["X-Request-Id"]}"',
        "startTime": since,
    }
    lines = deployment.eventually(lambda: _lines(deployment, found), bool, LOGGED_WITHIN)
    if not lines:
        raise Unmet(f"no line of the request within {LOGGED_WITHIN} s")
    return handle, lines


def _lines(deployment: Deployment, found: dict[str, Any]) -> list[str]:
    pages = deployment.aws("logs").get_paginator("filter_log_events").paginate(**found)
    return [event["message"] for page in pages for event in page["events"]]


def _expect_absent(secrets: dict[str, str], lines: list[str]) -> None:
    expect([what for what, text in secrets.items() if any(text in line for line in lines)], [])


CHECKS: list[Check] = [
    the_access_log_holds_no_receipt_handle,
    the_function_log_holds_no_receipt_handle,
    a_receive_may_wait_for_20_seconds,
    a_request_above_6_mb_is_refused_by_the_gateway,
    bytes_that_are_no_utf_8_are_refused,
    options_is_answered_by_the_service,
]
