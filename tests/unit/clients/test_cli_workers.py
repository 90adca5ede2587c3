"""The commands about what works queues off: consumers and services."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.unit.clients.fake_api import QUEUE_ID, FakeApi, Run, queue_json
from tests.unit.clients.shared_cases import resolved

SERVICE_ID = "44444444-4444-4444-8444-444444444444"
COUNTS = {"depth": 12, "in_flight": 3, "delayed": 0, "dlq_depth": None}


def thing(name: str, **fields: object) -> dict[str, object]:
    """One of the things of the shared cases."""
    found: dict[str, object] = resolved({"$use": name, **fields})
    return found


def routes(api: FakeApi) -> list[str]:
    return [f"{request.method} {request.url.path.split('/v1/')[1]}" for request in api.requests]


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["--function", "acme-resize"], {"type": "function", "function": "acme-resize"}),
        (["--url", "https://a.example/x"], {"type": "webhook", "url": "https://a.example/x"}),
        (
            ["--function=f", "--batch-size=5", "--max-concurrency=2"],
            {"type": "function", "function": "f", "batch_size": 5, "max_concurrency": 2},
        ),
    ],
)
def test_a_function_or_a_webhook_is_set(run: Run, api: FakeApi, words: list[str], asked: dict[str, object]) -> None:
    api.answers_with(queue_json())
    made = {**thing("function_consumer"), "secret": "whsec_eA=="}
    api.answers_with(made, status=201)
    result = run("queue", "consumer", "set", QUEUE_ID, *words)
    assert routes(api) == [f"GET queue/{QUEUE_ID}", f"POST queue/{QUEUE_ID}/consumer"]
    assert api.bodies() == [asked]
    assert json.loads(result.stdout) == made


@pytest.mark.usefixtures("on_terminal")
def test_a_webhooks_secret_is_shown_once_and_said_to_be(run: Run, api: FakeApi) -> None:
    api.answers_with(queue_json())
    api.answers_with({**thing("webhook_consumer"), "secret": "whsec_eA=="}, status=201)
    result = run("queue", "consumer", "set", QUEUE_ID, "--url", "https://a.example/x")
    assert "whsec_eA==" in result.stdout
    assert "shown once" in result.stderr
    assert "whsec" not in result.stderr


def test_a_webhooks_secret_that_was_lost_is_a_failure_that_says_what_to_do(run: Run, api: FakeApi) -> None:
    api.answers_with(queue_json())
    api.breaks_with(httpx.ReadTimeout("slow"))
    api.answers_with({**thing("webhook_consumer"), "secret": None}, status=201)
    result = run("queue", "consumer", "set", QUEUE_ID, "--url", "https://a.example/x")
    assert result.exit_code == 1
    assert "Remove the consumer and set it again." in result.stderr


def test_a_service_is_named_by_its_name_or_its_id(run: Run, api: FakeApi) -> None:
    for found in ([thing("service")], None):
        api.answers_with(queue_json())
        if found:
            api.answers_with({"services": found, "next_cursor": None})
        api.answers_with(thing("service_consumer"), status=201)
    run("queue", "consumer", "set", QUEUE_ID, "--service", "worker", "--min", "1", "--max", "20")
    run("queue", "consumer", "set", QUEUE_ID, "--service", SERVICE_ID, "--idle-seconds=90", "--messages-per-worker=2")
    assert routes(api)[:3] == [f"GET queue/{QUEUE_ID}", "GET compute", f"POST queue/{QUEUE_ID}/consumer"]
    assert api.requests[1].url.params["name"] == "worker"
    assert api.bodies() == [
        {"type": "service", "service_id": SERVICE_ID, "min": 1, "max": 20},
        {"type": "service", "service_id": SERVICE_ID, "idle_seconds": 90, "messages_per_worker": 2},
    ]


def test_a_service_that_is_not_there_is_not_a_queue_that_is_not_there(run: Run, api: FakeApi) -> None:
    api.answers_with(queue_json())
    api.answers_with({"services": [], "next_cursor": None})
    result = run("queue", "consumer", "set", QUEUE_ID, "--service", "nope")
    assert result.exit_code == 1
    assert "No service is called 'nope'" in result.stderr
    assert "naive compute list" in result.stderr


@pytest.mark.parametrize(
    ("reason", "told"),
    [("consumer_exists", "`naive queue consumer remove` it first"), ("visibility_too_short", "Hint: Wait.")],
)
def test_a_queue_that_has_a_consumer_says_what_can_be_done(run: Run, api: FakeApi, reason: str, told: str) -> None:
    api.answers_with(queue_json())
    api.refuses_with("conflict", 409, hint="Wait.", details={"reason": reason})
    assert told in run("queue", "consumer", "set", QUEUE_ID, "--function", "f").stderr


def test_numbers_alone_change_the_consumer_that_there_is(run: Run, api: FakeApi) -> None:
    api.answers_with(queue_json())
    api.answers_with(thing("service_consumer", max=40))
    result = run("queue", "consumer", "set", QUEUE_ID, "--max", "40")
    assert routes(api)[1] == f"PATCH queue/{QUEUE_ID}/consumer"
    assert api.bodies() == [{"max": 40}]
    assert json.loads(result.stdout)["max"] == 40


@pytest.mark.parametrize("words", [[], ["--function=f", "--url=https://a.example"], ["--url="], ["--min=x"]])
def test_what_cannot_be_a_consumer_is_wrong_usage(run: Run, api: FakeApi, words: list[str]) -> None:
    assert run("queue", "consumer", "set", QUEUE_ID, *words).exit_code == 2
    assert api.requests == []


@pytest.mark.parametrize(
    ("command", "method", "body"),
    [
        ("show", "GET", []),
        ("pause", "PATCH", [{"paused": True}]),
        ("resume", "PATCH", [{"paused": False}]),
    ],
)
def test_a_consumer_is_shown_paused_and_resumed(
    run: Run, api: FakeApi, command: str, method: str, body: list[object]
) -> None:
    api.answers_with({"queues": [queue_json()], "next_cursor": None})
    api.answers_with(thing("webhook_consumer"))
    result = run("queue", "consumer", command, "jobs")
    assert routes(api)[1] == f"{method} queue/{QUEUE_ID}/consumer"
    assert api.bodies() == body
    assert json.loads(result.stdout) == thing("webhook_consumer")


@pytest.mark.usefixtures("on_terminal")
def test_a_consumer_on_a_terminal_has_only_the_fields_of_its_type(run: Run, api: FakeApi) -> None:
    api.answers_with(queue_json())
    api.answers_with(thing("service_consumer"))
    shown = run("queue", "consumer", "show", QUEUE_ID).stdout
    assert "messages_per_worker" in shown
    assert "batch_size" not in shown


@pytest.mark.parametrize("command", ["show", "pause", "resume", "remove"])
def test_a_queue_without_a_consumer_says_how_to_get_one(run: Run, api: FakeApi, command: str) -> None:
    api.answers_with(queue_json())
    api.refuses_with("not_found", 404, hint="Give it one by POST.")
    result = run("queue", "consumer", command, QUEUE_ID)
    assert result.exit_code == 1
    assert "Hint: `naive queue consumer set` gives a queue one.\n" in result.stderr


def test_a_consumer_is_removed_after_a_question_on_a_terminal(run: Run, api: FakeApi, on_terminal: None) -> None:
    assert run("queue", "consumer", "remove", QUEUE_ID, input="n\n").exit_code == 1
    assert api.requests == []
    for answer in ("y\n", None):
        api.answers_with(queue_json())
        api.answers_with(status=204)
        words = ("queue", "consumer", "remove", QUEUE_ID, *([] if answer else ["--yes"]))
        assert "Removed" in run(*words, input=answer).stderr
    assert routes(api)[1::2] == [f"DELETE queue/{QUEUE_ID}/consumer"] * 2


def test_a_service_is_made_for_a_queue_that_is_named_by_its_name(run: Run, api: FakeApi) -> None:
    api.answers_with({"queues": [queue_json()], "next_cursor": None})
    api.answers_with(thing("service"), status=201)
    words = "compute create --name worker --type service --image me/worker:latest --queue jobs"
    result = run(*words.split())
    assert routes(api) == ["GET queue", "POST compute"]
    assert api.bodies() == [{"name": "worker", "type": "service", "image": "me/worker:latest", "queue_id": QUEUE_ID}]
    assert json.loads(result.stdout) == thing("service")


def test_a_command_is_taken_apart_and_variables_may_hold_anything(run: Run, api: FakeApi) -> None:
    api.answers_with(thing("service"), status=201)
    words = ["--command", "python 'my work.py' --fast", "--env", "A=1=2", "--env", "B=", "--cpu=512", "--memory=1024"]
    run("compute", "create", "--name=w", "--image=i", *words)
    assert api.bodies() == [
        {
            "name": "w",
            "type": "service",
            "image": "i",
            "command": ["python", "my work.py", "--fast"],
            "cpu": 512,
            "memory": 1024,
            "env": {"A": "1=2", "B": ""},
        }
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--env", "A"], "'A' is not NAME=VALUE"),
        (["--env", "=x"], "'=x' is not NAME=VALUE"),
        (["--command", "echo 'x"], "no closing quotation"),
        (["--command", ""], "it is empty"),
        (["--queue", ""], "it is empty"),
    ],
)
def test_what_cannot_be_a_service_is_wrong_usage(run: Run, api: FakeApi, words: list[str], told: str) -> None:
    result = run("compute", "create", "--name=w", "--image=i", *words)
    assert (result.exit_code, told in result.stderr) == (2, True), result.stderr
    assert api.requests == []


def test_a_type_that_is_not_there_is_refused_by_the_api_with_its_hint(run: Run, api: FakeApi) -> None:
    api.refuses_with("invalid_input", 400, hint="Make a service with a queue_id.")
    result = run("compute", "create", "--name=w", "--image=i", "--type=job")
    assert api.bodies()[0]["type"] == "job"
    assert "Make a service with a --queue." in result.stderr


@pytest.mark.parametrize(
    ("words", "method", "route", "body"),
    [
        (["show"], "GET", "", []),
        (["start"], "POST", "/start", []),
        (["stop"], "POST", "/stop", []),
        (["scale", "3"], "POST", "/scale", [{"count": 3}]),
    ],
)
@pytest.mark.parametrize("name", ["worker", SERVICE_ID])
def test_a_service_is_told_what_to_do(
    run: Run, api: FakeApi, name: str, words: list[str], method: str, route: str, body: list[object]
) -> None:
    if name == "worker":
        api.answers_with({"services": [thing("service")], "next_cursor": None})
    api.answers_with(thing("service", desired=3))
    result = run("compute", words[0], name, *words[1:])
    assert routes(api)[-1] == f"{method} compute/{SERVICE_ID}{route}"
    assert api.bodies() == body
    assert json.loads(result.stdout)["desired"] == 3


def test_services_are_listed(run: Run, api: FakeApi) -> None:
    api.answers_with({"services": [thing("service")], "next_cursor": "c"})
    result = run("compute", "list", "--limit", "1")
    assert json.loads(result.stdout)["services"] == [thing("service")]
    assert "--cursor c" in result.stderr


@pytest.mark.usefixtures("on_terminal")
def test_services_on_a_terminal_are_a_table(run: Run, api: FakeApi) -> None:
    api.answers_with({"services": [thing("service", running=1, desired=2)], "next_cursor": None})
    api.answers_with({"services": [], "next_cursor": None})
    assert "1 of 2" in run("compute", "list").stdout
    assert "no such services" in run("compute", "list").stderr


@pytest.mark.usefixtures("on_terminal")
def test_a_services_command_on_a_terminal_is_what_one_would_type(run: Run, api: FakeApi) -> None:
    api.answers_with(thing("service", command=["sh", "-c", "echo hi"]))
    assert "sh -c 'echo hi'" in run("compute", "show", SERVICE_ID).stdout


LINE = {"time": "2026-01-02T03:04:05Z", "message": "hi \x1b[31m\n2026-01-02 03:04:06  ho\u2028\r"}


def test_logs_go_from_page_to_page_until_there_are_no_more(run: Run, api: FakeApi) -> None:
    pages: list[dict[str, object]] = [
        {"lines": [LINE], "next_cursor": "1"},
        {"lines": [], "next_cursor": "2"},
        {"lines": [LINE], "next_cursor": None},
    ]
    for page in pages:
        api.answers_with(page)
    result = run("compute", "logs", SERVICE_ID)
    assert [json.loads(line) for line in result.stdout.splitlines()] == pages
    assert [request.url.params.get("cursor") for request in api.requests] == [None, "1", "2"]


@pytest.mark.usefixtures("on_terminal")
def test_logs_on_a_terminal_are_lines_that_it_does_not_obey(run: Run, api: FakeApi) -> None:
    api.answers_with({"lines": [LINE], "next_cursor": None})
    shown = r"2026-01-02 03:04:05  hi \x1b[31m\n2026-01-02 03:04:06  ho\u2028\r"
    assert run("compute", "logs", SERVICE_ID).stdout == f"{shown}\n"


def test_a_service_is_deleted_after_a_question_on_a_terminal(run: Run, api: FakeApi, on_terminal: None) -> None:
    assert run("compute", "delete", SERVICE_ID, input="n\n").exit_code == 1
    assert api.requests == []
    api.answers_with(status=204)
    assert "Deleted" in run("compute", "delete", SERVICE_ID, "--yes").stderr
    assert routes(api) == [f"DELETE compute/{SERVICE_ID}"]


def watched(api: FakeApi, **service: object) -> None:
    """A look at a queue that a service works for."""
    api.answers_with(queue_json(attributes=COUNTS, consumer={"type": "service", "paused": False}))
    api.answers_with(thing("service_consumer"))
    api.answers_with(thing("service", **service))


def test_watch_tells_how_many_workers_there_are(run: Run, api: FakeApi) -> None:
    watched(api, desired=1)
    watched(api, desired=2, running=1)
    result = run("queue", "watch", QUEUE_ID, "--count", "2")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {**COUNTS, "workers": {"desired": 1, "running": 0}},
        {**COUNTS, "workers": {"desired": 2, "running": 1}},
    ]


@pytest.mark.usefixtures("on_terminal")
def test_watch_shows_the_workers_on_a_terminal(run: Run, api: FakeApi) -> None:
    watched(api, desired=4, running=3)
    shown = run("queue", "watch", QUEUE_ID, "--count", "1").stdout
    assert "workers" in shown
    assert "wanted" in shown


def test_watch_goes_on_when_the_service_goes(run: Run, api: FakeApi) -> None:
    api.answers_with(queue_json(attributes=COUNTS, consumer={"type": "service", "paused": False}))
    api.refuses_with("not_found", 404)
    api.answers_with(queue_json(attributes=COUNTS, consumer={"type": "function", "paused": False}))
    result = run("queue", "watch", QUEUE_ID, "--count", "2")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [COUNTS, COUNTS]
