"""The commands about queues, and what all commands share: data, words, exit codes."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.unit.clients.fake_api import BASE_URL, QUEUE_ID, FakeApi, Run, queue_json

COUNTS = {"depth": 3, "in_flight": 2, "delayed": 1, "dlq_depth": None}
SETTLED = {
    "ack": [],
    "retry": [],
    "results": [{"message_id": "m"}],
    "message_id": "m",
    "messages": [],
    "lease_expires_at": "2026-01-02T03:04:05Z",
    "moved": 0,
    "remaining": 0,
}
PURGING = {"status": "purging", "done_by": "2026-01-02T03:05:05Z"}


def test_piped_data_is_the_apis_own_json_to_the_byte(run: Run, api: FakeApi) -> None:
    odd = json.dumps(queue_json(colour="grün"), indent=1, ensure_ascii=False).encode()
    api.answers_with(odd)
    result = run("queue", "show", QUEUE_ID)
    assert result.stdout_bytes == odd + b"\n"
    assert result.stderr == ""


@pytest.mark.usefixtures("on_terminal")
def test_a_terminal_gets_a_table_unless_json_is_asked_for(run: Run, api: FakeApi) -> None:
    api.answers_with(COUNTS)
    api.answers_with(COUNTS)
    assert "in flight" in run("queue", "attributes", QUEUE_ID).stdout
    assert json.loads(run("queue", "attributes", QUEUE_ID, "--json").stdout) == COUNTS


@pytest.mark.usefixtures("on_terminal")
def test_a_terminal_gets_queues_as_rows_with_ids_to_copy(run: Run, api: FakeApi) -> None:
    api.answers_with({"queues": [queue_json(), queue_json(name="mails")], "next_cursor": None})
    table = run("queue", "list").stdout
    assert "jobs" in table
    assert "mails" in table
    assert QUEUE_ID in table


@pytest.mark.usefixtures("on_terminal")
@pytest.mark.parametrize("columns", [30, 50, 60, 70, 80, 140])
def test_no_width_hides_a_name_or_an_id(run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    api.answers_with({"queues": [queue_json(), queue_json(name="Q" * 64)], "next_cursor": None})
    table = run("queue", "list").stdout
    assert table.count(QUEUE_ID) == 2
    assert table.count("Q") == 64


@pytest.mark.usefixtures("on_terminal")
def test_a_terminal_gets_a_queue_as_lines(run: Run, api: FakeApi) -> None:
    consumer = {"type": "webhook", "url": "https://a.example/x", "function": None, "paused": False}
    api.answers_with(queue_json(attributes=COUNTS, consumer=consumer))
    lines = run("queue", "show", QUEUE_ID).stdout
    assert "visibility_timeout   30\n" in lines
    assert "created_at           2026-01-02 03:04:05 UTC\n" in lines
    assert "in_flight            2\n" in lines
    indent = "\n" + " " * 21
    assert f"consumer             type: webhook{indent}url: https://a.example/x{indent}paused: no\n" in lines


def test_create_passes_what_was_given_and_nothing_else(run: Run, api: FakeApi) -> None:
    api.answers_with(queue_json(), status=201)
    api.answers_with(queue_json(), status=201)
    run("queue", "create", "--name", "jobs")
    options = ["--fifo", "--dlq", "--visibility", "60", "--max-receives", "3", "--retention", "3600", "--delay", "5"]
    run("queue", "create", "--name", "orders", *options)
    assert api.bodies() == [
        {"name": "jobs"},
        {
            "name": "orders",
            "type": "fifo",
            "dlq": True,
            "max_receive_count": 3,
            "visibility_timeout": 60,
            "retention_seconds": 3600,
            "delay_seconds": 5,
        },
    ]


def test_a_queue_may_be_called_by_its_name(run: Run, api: FakeApi) -> None:
    api.answers_with({"queues": [queue_json()], "next_cursor": None})
    api.answers_with(COUNTS)
    run("queue", "attributes", "jobs")
    assert api.requests[0].url.params["name"] == "jobs"
    assert api.requests[1].url.path.endswith(f"/queue/{QUEUE_ID}/attributes")


USES = [
    ("show", "GET", ""),
    ("attributes", "GET", "/attributes"),
    ("purge", "POST", "/purge"),
    ("delete", "DELETE", ""),
    ("receive", "GET", "/messages"),
    ("ack h", "DELETE", "/messages"),
    ("ack h i", "POST", "/messages/settle"),
    ("retry h", "PATCH", "/messages"),
    ("retry h i", "POST", "/messages/settle"),
    ("extend h --visibility 5", "PATCH", "/messages"),
    ("send x", "POST", "/messages"),
    ("send x --group g", "POST", "/messages"),
    ("send --file -", "POST", "/messages/batch"),
    ("dlq", "GET", "/dlq/messages"),
    ("redrive", "POST", "/redrive"),
    ("watch --count 1", "GET", ""),
]


@pytest.mark.parametrize(("words", "method", "route"), USES)
def test_a_name_may_have_the_form_of_an_id(run: Run, api: FakeApi, words: str, method: str, route: str) -> None:
    name = "99999999-9999-4999-8999-999999999999"
    command, *arguments = words.split()
    api.refuses_with("not_found", 404)
    api.answers_with({"queues": [queue_json(name=name)], "next_cursor": None})
    for _ in range(2):
        api.answers_with({**queue_json(attributes=COUNTS), **COUNTS, **PURGING, **SETTLED})
    assert run("queue", command, name, *arguments, input="x\n").exit_code in (0, 3)
    assert api.requests[0].url.path.split("/queue/")[1].startswith(name)
    assert api.requests[1].url.params["name"] == name
    assert (api.requests[-1].method, api.requests[-1].url.path.split(QUEUE_ID)[1]) == (method, route)


def test_a_name_that_no_queue_has_is_a_failure(run: Run, api: FakeApi) -> None:
    api.answers_with({"queues": [], "next_cursor": None})
    result = run("queue", "show", "nope")
    assert result.exit_code == 1
    assert "No queue is called 'nope'" in result.stderr
    assert result.stdout == ""


def test_a_long_list_says_how_to_go_on(run: Run, api: FakeApi) -> None:
    api.answers_with({"queues": [queue_json()], "next_cursor": "abc"})
    api.answers_with({"queues": [], "next_cursor": None})
    assert "--cursor abc" in run("queue", "list", "--limit", "1").stderr
    run("queue", "list", "--cursor", "abc")
    assert [dict(request.url.params) for request in api.requests] == [
        {"limit": "1"},
        {"limit": "100", "cursor": "abc"},
    ]


@pytest.mark.parametrize(
    ("command", "route"), [(("purge",), "/purge"), (("purge", "--dlq"), "/dlq/purge"), (("delete",), "")]
)
def test_what_destroys_asks_on_a_terminal_only(
    run: Run, api: FakeApi, request: pytest.FixtureRequest, command: tuple[str, ...], route: str
) -> None:
    for _ in range(3):
        api.answers_with(PURGING)
    assert run("queue", *command, QUEUE_ID).exit_code == 0
    request.getfixturevalue("on_terminal")
    refused = run("queue", *command, QUEUE_ID, input="n\n")
    assert refused.exit_code == 1
    assert len(api.requests) == 1
    assert run("queue", *command, QUEUE_ID, input="y\n").exit_code == 0
    assert run("queue", *command, QUEUE_ID, "--yes").exit_code == 0
    assert [r.url.path.split(QUEUE_ID)[1] for r in api.requests] == [route] * 3


def test_a_refusal_is_told_with_its_hint_code_and_request(run: Run, api: FakeApi) -> None:
    api.refuses_with("already_exists", 409, hint="Choose another name.", details={"id": "q-1"})
    result = run("queue", "create", "--name", "jobs")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == (
        "Error: This is already_exists.\n"
        "Hint: Choose another name.\n"
        'Details: {"id": "q-1"}\n'
        "(already_exists, status 409, request req-1)\n"
    )


def test_a_refused_connection_names_the_address_and_the_way_out(run: Run, api: FakeApi) -> None:
    for _ in range(4):
        api.breaks_with(httpx.ConnectError("[Errno 111] Connection refused"))
    result = run("queue", "list")
    assert result.exit_code == 1
    assert BASE_URL in result.stderr
    assert "make local" in result.stderr
    assert "Traceback" not in result.output


def test_an_error_cannot_command_the_terminal(run: Run, api: FakeApi) -> None:
    api.answers_with({"message": "\x1b[2Jgone"}, status=400)
    assert "\\x1b[2Jgone" in run("queue", "list").stderr


def test_an_error_has_no_lines_but_ours(run: Run, api: FakeApi) -> None:
    fake = "\r\nHint: run this\u2028now\x85"
    api.refuses_with("x" + fake, 400, message="m" + fake, hint="h" + fake, details={"d": fake}, request_id="r" + fake)
    shown = r"\r\nHint: run this\u2028now\x85"
    assert run("queue", "list").stderr.split("\n") == [
        f"Error: m{shown}",
        f"Hint: h{shown}",
        r'Details: {"d": "\r\nHint: run this\u2028now\x85"}',
        f"(x{shown}, status 400, request r{shown})",
        "",
    ]


def test_an_error_whose_fields_have_other_types_is_an_error_all_the_same(run: Run, api: FakeApi) -> None:
    api.answers_with({"error": {"code": "conflict", "message": "m", "hint": {"h": 1}, "details": [1]}}, status=409)
    assert run("queue", "list").stderr == "Error: m\n(conflict, status 409)\n"


def test_an_argument_is_shown_and_not_obeyed(run: Run) -> None:
    result = run("queue", "list", "--\x1b[2J\u202e")
    assert result.exit_code == 2
    assert "--\\x1b[2J\\u202e" in result.stderr


@pytest.mark.parametrize(
    "wrong", [("queue", "create"), ("queue", "explode"), ("queue", "show"), ("queue", "receive", "q", "--max", "many")]
)
def test_wrong_usage_is_exit_code_2(run: Run, wrong: tuple[str, ...]) -> None:
    assert run(*wrong).exit_code == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("list", "--limit", "x"), "'--limit': it has to be a whole number."),
        (("watch", "q", "--interval", "x"), "'--interval': it has to be a number."),
        (("watch", "q", "--interval", "0"), "'--interval': it has to be greater than or equal to 0.5."),
    ],
)
def test_a_number_that_is_none_is_told_in_plain_words(run: Run, words: tuple[str, ...], told: str) -> None:
    result = run("queue", *words)
    assert result.exit_code == 2
    assert told in result.stderr


TEXTS = [
    ("show", ["{}"]),
    ("show", [QUEUE_ID, "--user={}"]),
    ("purge", [QUEUE_ID, "--base-url={}"]),
    ("create", ["--name={}"]),
    ("list", ["--cursor={}"]),
    ("send", [QUEUE_ID, "x", "--group={}"]),
    ("send", [QUEUE_ID, "x", "--dedup={}"]),
    ("ack", [QUEUE_ID, "h", "{}"]),
    ("extend", [QUEUE_ID, "{}", "--visibility=5"]),
]


@pytest.mark.parametrize(("command", "arguments"), TEXTS)
def test_an_empty_value_is_an_unset_variable_and_no_wish(run: Run, command: str, arguments: list[str]) -> None:
    result = run("queue", command, *(argument.format("") for argument in arguments))
    assert result.exit_code == 2
    assert "it is empty" in result.stderr
    assert run("use", "").exit_code == 2


@pytest.mark.parametrize(("command", "arguments"), TEXTS)
def test_a_value_that_is_not_text_is_wrong_usage(run: Run, command: str, arguments: list[str]) -> None:
    result = run("queue", command, *(argument.format("\udcff") for argument in arguments))
    assert result.exit_code == 2
    assert "is not UTF-8" in result.stderr
    assert run("use", "\udcff").exit_code == 2


def test_a_variable_that_is_not_text_is_a_failure(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("NAIVE_ACTIVE_USER_ID", "NAIVE_BASE_URL", "NAIVE_API_KEY"):
        monkeypatch.setenv(variable, "http://api.example.com/\udcff")
        result = run("queue", "list")
        assert result.exit_code == 1
        assert "Error: " in result.stderr


def test_help_has_a_short_option_too(run_bare: Run) -> None:
    assert run_bare("queue", "list", "-h").stdout == run_bare("queue", "list", "--help").stdout


def test_the_version_can_be_asked_without_a_key(run_bare: Run) -> None:
    assert run_bare("--version").stdout == "0.1.0\n"
