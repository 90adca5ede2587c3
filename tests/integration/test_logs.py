"""What the tasks of a service have written, in pages, and nobody else's lines."""

import time
from typing import Any

import pytest

from tenancy import tokens
from tenancy.names import new_id
from tenancy.tasks import LOG_GROUP
from tests.integration.conftest import Api, Calls, aws_fault
from tests.integration.leftovers import operator

pytestmark = pytest.mark.usefixtures("cluster")


def write(service: str, *lines: str, task: str = "1", at: float | None = None) -> None:
    """What a task of the service writes, as ECS names its stream."""
    logs, stream = operator("logs"), f"{service}/worker/{task}"
    names = [found["logStreamName"] for found in logs.describe_log_streams(logGroupName=LOG_GROUP)["logStreams"]]
    if stream not in names:
        logs.create_log_stream(logGroupName=LOG_GROUP, logStreamName=stream)
    now = int((at or time.time()) * 1000)
    events: Any = [{"timestamp": now + number, "message": line} for number, line in enumerate(lines)]
    logs.put_log_events(logGroupName=LOG_GROUP, logStreamName=stream, logEvents=events)


def read(api: Api, service: str, **query: Any) -> Any:
    answer = api("GET", f"/v1/compute/{service}/logs", **query)
    assert answer.status == 200, answer.text
    return answer.json


def messages(page: Any) -> list[str]:
    return [line["message"] for line in page["lines"]]


def all_messages(api: Api, service: str, **query: Any) -> list[str]:
    """What all pages have, from the first one or from a cursor on."""
    page = read(api, service, **query)
    while (cursor := page["next_cursor"]) is not None:
        more = read(api, service, **(query | {"cursor": cursor}))
        page = {"lines": page["lines"] + more["lines"], "next_cursor": more["next_cursor"]}
    return messages(page)


def test_lines_are_those_of_all_its_tasks_with_their_times(api: Api) -> None:
    service, now = api.service(), int(time.time()) + 1.062
    write(service, "first", "second", task="1", at=now)
    write(service, "another", task="2", at=now)
    page = read(api, service)
    assert sorted(messages(page)) == ["another", "first", "second"]
    assert page["next_cursor"] is None
    second = time.strftime("%Y-%m-%dT%H:%M:%S.063Z", time.gmtime(now))
    assert {"time": second, "message": "second"} in page["lines"]


def test_a_service_that_has_written_nothing_has_no_lines(api: Api) -> None:
    assert read(api, api.service()) == {"lines": [], "next_cursor": None}


def test_pages_go_on_where_the_last_one_ended(api: Api) -> None:
    service = api.service()
    write(service, *(f"line {number}" for number in range(250)))
    assert all_messages(api, service, limit=99) == [f"line {number}" for number in range(250)]
    assert len(messages(read(api, service))) == 100


def test_nobody_elses_lines_are_among_them(api: Api, stranger: Api) -> None:
    sibling = api.new_key(api.new_user())
    mine, others = api.service(), [api.service("second"), sibling.service(), stranger.service()]
    for service in [*others, mine[:-1], mine + "0"]:
        write(service, "canary")
    write(mine, "mine")
    for limit in 1, 1000:
        assert all_messages(api, mine, limit=limit) == ["mine"]


def test_a_cursor_is_good_for_its_service_alone(api: Api, stranger: Api) -> None:
    services = {client.company: client.service() for client in (api, stranger)}
    for service in services.values():
        write(service, "a", "b")
    cursor = read(stranger, services[stranger.company], limit=1)["next_cursor"]
    assert "b" in all_messages(stranger, services[stranger.company], cursor=cursor)
    second = api.service("second")
    for bad in (cursor, "", "garbled", "logs_", tokens.seal("logs", b"", services[api.company])):
        for service in services[api.company], second:
            answer = api("GET", f"/v1/compute/{service}/logs", cursor=bad)
            assert (answer.status, answer.json["error"]["details"]) == (400, {"field": "cursor"})


def test_a_cursor_that_cloudwatch_does_not_take_any_more_is_refused(api: Api, calls: Calls) -> None:
    service = api.service()
    cursor = tokens.seal("logs", b"an old one", service)
    calls.fail("FilterLogEvents", aws_fault("InvalidParameterException"))
    answer = api("GET", f"/v1/compute/{service}/logs", cursor=cursor)
    assert (answer.status, answer.code) == (400, "invalid_input")
    assert "of the last 24 hours" in answer.json["error"]["message"]
    calls.fail("FilterLogEvents", aws_fault("InvalidParameterException"))
    assert api("GET", f"/v1/compute/{service}/logs").status == 500


@pytest.mark.parametrize("code", ["ThrottlingException", "ServiceUnavailableException"])
def test_cloudwatch_that_cannot_take_it_now_is_unavailable(api: Api, calls: Calls, code: str) -> None:
    service = api.service()
    calls.fail("FilterLogEvents", aws_fault(code, 503))
    assert api("GET", f"/v1/compute/{service}/logs").status == 503


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 1001}, {"limit": "all"}, {"since": 1}])
def test_a_bad_query_is_refused(api: Api, query: Any) -> None:
    assert api("GET", f"/v1/compute/{api.service()}/logs", **query).code == "invalid_input"


def test_what_was_written_before_the_service_is_not_searched(api: Api, calls: Calls) -> None:
    before = time.time()
    read(api, api.service())
    (asked,) = calls.arguments("FilterLogEvents")
    assert before * 1000 - 1 <= asked["startTime"] <= time.time() * 1000


def test_of_a_service_that_is_not_there_nothing_is_read(api: Api, calls: Calls) -> None:
    assert api("GET", f"/v1/compute/{new_id()}/logs").code == "not_found"
    assert calls.arguments("FilterLogEvents") == []
