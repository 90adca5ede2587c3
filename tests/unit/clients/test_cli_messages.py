"""The commands about messages."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.unit.clients.fake_api import QUEUE_ID, FakeApi, Run, fifo_json, message_json, queue_json

SENT = {"message_id": "m-1"}
BODIES = ['{"task":"..."}', " padded\t", "line\nline\r\n", "🐘 ünïcödé", "\ufeffbom", "cGFy"]


@pytest.mark.parametrize("body", BODIES)
def test_an_argument_is_sent_untouched(run: Run, api: FakeApi, body: str) -> None:
    api.answers_with(SENT, status=201)
    result = run("queue", "send", QUEUE_ID, body)
    assert result.exit_code == 0
    assert api.bodies() == [{"body": body}]
    assert json.loads(result.stdout) == SENT


@pytest.mark.usefixtures("on_terminal")
def test_a_person_sees_only_what_a_sent_message_has(run: Run, api: FakeApi) -> None:
    api.answers_with({"message_id": "m-1"}, status=201)
    assert run("queue", "send", QUEUE_ID, "x").stdout == "message_id  m-1\n"
    api.answers_with({"message_id": "m-1", "sequence_number": "7"}, status=201)
    assert "sequence_number  7" in run("queue", "send", QUEUE_ID, "x").stdout


@pytest.mark.parametrize("body", BODIES)
def test_stdin_is_sent_untouched(run: Run, api: FakeApi, body: str) -> None:
    api.answers_with(SENT, status=201)
    run("queue", "send", QUEUE_ID, "-", input=body.encode())
    assert api.bodies() == [{"body": body}]


def test_stdin_that_is_not_text_is_wrong_usage(run: Run) -> None:
    result = run("queue", "send", QUEUE_ID, "-", input=b"ab\xff\xfe")
    assert result.exit_code == 2
    assert "not UTF-8 at byte 2" in result.stderr


def test_an_argument_that_is_not_text_is_wrong_usage(run: Run) -> None:
    result = run("queue", "send", QUEUE_ID, "ab\udcff")
    assert result.exit_code == 2
    assert "not UTF-8 at character 2" in result.stderr


def test_options_travel_with_the_message(run: Run, api: FakeApi) -> None:
    api.answers_with(SENT, status=201)
    run("queue", "send", QUEUE_ID, "x", "--group", "g", "--dedup", "d", "--delay", "0")
    assert api.bodies() == [{"body": "x", "group_id": "g", "dedup_id": "d", "delay_seconds": 0}]


def test_a_body_that_looks_like_an_option_goes_after_two_dashes(run: Run, api: FakeApi) -> None:
    api.answers_with(SENT, status=201)
    run("queue", "send", QUEUE_ID, "--", "--yes")
    assert api.bodies() == [{"body": "--yes"}]


def test_a_message_of_a_group_for_a_fifo_queue_is_safe_to_repeat(run: Run, api: FakeApi) -> None:
    api.answers_with(fifo_json(content_based_dedup=False))
    api.breaks_with(httpx.ReadTimeout("slow"))
    api.answers_with(SENT, status=201)
    assert run("queue", "send", QUEUE_ID, "x", "--group", "g").exit_code == 0
    first, second = api.bodies()
    assert first["dedup_id"] == second["dedup_id"]


@pytest.mark.parametrize("arguments", [(), ("x", "--file", "f"), ("--file", "f", "--dedup", "d"), ("--file", "/nope")])
def test_a_send_of_nothing_or_of_two_things_is_wrong_usage(run: Run, arguments: tuple[str, ...]) -> None:
    assert run("queue", "send", QUEUE_ID, *arguments).exit_code == 2


def test_receive_passes_its_options_and_prints_the_messages(run: Run, api: FakeApi) -> None:
    answer = {"messages": [message_json(body="a\u0000b")]}
    api.answers_with(answer)
    result = run("queue", "receive", QUEUE_ID, "--max", "10", "--wait", "20", "--visibility", "60")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == answer
    assert dict(api.requests[0].url.params) == {"max": "10", "wait": "20", "visibility": "60"}
    assert api.requests[0].extensions["timeout"]["read"] == 30


def test_receiving_nothing_is_exit_code_3_with_an_empty_list(run: Run, api: FakeApi) -> None:
    api.answers_with({"messages": []})
    result = run("queue", "receive", QUEUE_ID)
    assert result.exit_code == 3
    assert json.loads(result.stdout) == {"messages": []}


@pytest.mark.usefixtures("on_terminal")
def test_a_terminal_gets_whole_handles_and_harmless_bodies(run: Run, api: FakeApi) -> None:
    handle = "h" * 2000
    body = "[red]\x1b]0;owned\x07\u202etxt\u2066\u200f\u061c" + "x" * 3000
    api.answers_with({"messages": [message_json(receipt_handle=handle, body=body)]})
    shown = run("queue", "receive", QUEUE_ID).stdout
    assert f"receipt_handle    {handle}\n" in shown
    assert "[red]\\x1b]0;owned\\x07\\u202etxt\\u2066\\u200f\\u061cxxx" in shown
    assert "more characters" in shown


OBEYED = "\x00\x1b[2J\x7f\x85\x9b31m\u2028\u2029\u061c\u200e\u202e\u2069"


@pytest.mark.usefixtures("on_terminal")
def test_json_on_a_terminal_has_escapes_for_what_that_would_obey(run: Run, api: FakeApi) -> None:
    answer = {"messages": [message_json(body=f"é🐘\n{OBEYED}", group_id=OBEYED, **{OBEYED: OBEYED})]}
    api.answers_with(json.dumps(answer, ensure_ascii=False, indent=1).replace("\n", "\r\n").encode())
    shown = run("queue", "receive", QUEUE_ID, "--json").stdout
    assert json.loads(shown) == answer
    assert shown.count("\n") == 1
    assert not set(OBEYED.replace("[2J", "").replace("31m", "") + "\r") & set(shown)
    assert "é🐘\\n\\u0000\\u001b[2J\\u007f\\u0085\\u009b31m\\u2028" in shown


def test_json_that_is_piped_is_the_servers_own(run: Run, api: FakeApi) -> None:
    answer = json.dumps({"messages": [message_json(body=f"é{OBEYED}")]}, ensure_ascii=False).encode()
    api.answers_with(answer)
    assert run("queue", "receive", QUEUE_ID, "--json").stdout_bytes == answer + b"\n"


@pytest.mark.usefixtures("on_terminal")
def test_no_line_of_a_body_looks_like_a_field(run: Run, api: FakeApi) -> None:
    api.answers_with({"messages": [message_json(body="one\n\nreceipt_handle    h-2\u2028x\r\n" + "y" * 3000)]})
    lines = run("queue", "receive", QUEUE_ID).stdout.splitlines()
    margin = " " * lines[0].index("m-1")
    first = next(place for place, line in enumerate(lines) if line.startswith("body"))
    assert [line.removeprefix("body").lstrip() for line in lines[first : first + 3]] == [
        "one",
        "",
        r"receipt_handle    h-2\u2028x\r",
    ]
    assert all(line.startswith(margin) for line in lines[first + 1 :] if line)
    assert "more characters" in lines[-2]


@pytest.mark.usefixtures("on_terminal")
def test_a_field_of_a_newer_server_is_harmless_too(run: Run, api: FakeApi) -> None:
    api.answers_with({"message_id": "m\nm", "new\n\x9b": "v\nv"}, status=201)
    assert run("queue", "send", QUEUE_ID, "x").stdout.splitlines() == [
        r"message_id  m\nm",
        r"new\n\x9b   v\nv",
    ]


@pytest.mark.parametrize("wait", ["-100", "10000000000", "9" * 400])
def test_a_wait_that_no_clock_has_is_left_to_the_server_to_refuse(run: Run, api: FakeApi, wait: str) -> None:
    api.refuses_with("invalid_input", 400)
    assert run("queue", "receive", QUEUE_ID, "--wait", wait).exit_code == 1
    assert api.requests[0].url.params["wait"] == wait
    assert 10 <= api.requests[0].extensions["timeout"]["read"] <= 30


@pytest.mark.usefixtures("on_terminal")
def test_a_terminal_is_told_when_there_is_nothing(run: Run, api: FakeApi) -> None:
    api.answers_with({"messages": []})
    result = run("queue", "receive", QUEUE_ID)
    assert (result.exit_code, result.stdout, result.stderr) == (3, "", "Nothing received.\n")


def test_one_ack_prints_no_data(run: Run, api: FakeApi) -> None:
    api.answers_with(status=204)
    result = run("queue", "ack", QUEUE_ID, "h/1+=")
    assert (result.exit_code, result.stdout) == (0, "")
    assert api.requests[0].method == "DELETE"
    assert api.requests[0].url.params["receipt_handle"] == "h/1+="


@pytest.mark.parametrize("command", ["ack", "retry", "extend"])
def test_a_misspelt_option_is_not_taken_for_a_handle(run: Run, command: str) -> None:
    result = run("queue", command, QUEUE_ID, "handle", "--dely", "5", "--visibility", "5")
    assert result.exit_code == 2


def test_many_acks_are_settled_together_and_the_failed_ones_named(run: Run, api: FakeApi) -> None:
    ok = {"ok": True}
    api.answers_with({"ack": [ok] * 100, "retry": [], "extend": []})
    gone = {"error": {"code": "receipt_expired", "message": "The lease is over."}}
    api.answers_with({"ack": [ok, gone], "retry": [], "extend": []})
    result = run("queue", "ack", QUEUE_ID, *(f"h{number}" for number in range(102)))
    assert result.exit_code == 1
    assert [len(body["ack"]) for body in api.bodies()] == [100, 2]
    assert "Handle 102: The lease is over. (receipt_expired)" in result.stderr
    assert "Acked 101 of 102" in result.stderr
    assert len(result.stdout.splitlines()) == 2


def test_retry_gives_back_now_or_later(run: Run, api: FakeApi) -> None:
    api.answers_with({"lease_expires_at": "2026-01-02T03:04:35Z"})
    api.answers_with({"ack": [], "retry": [{"ok": True}, {"ok": True}], "extend": []})
    run("queue", "retry", QUEUE_ID, "h")
    assert run("queue", "retry", QUEUE_ID, "h", "i", "--delay", "60").exit_code == 0
    assert api.bodies() == [
        {"receipt_handle": "h", "visibility": 0},
        {"retry": [{"receipt_handle": "h", "delay_seconds": 60}, {"receipt_handle": "i", "delay_seconds": 60}]},
    ]


def test_extend_prints_the_new_end_of_the_lease(run: Run, api: FakeApi) -> None:
    lease = {"lease_expires_at": "2026-01-02T03:04:35Z"}
    api.answers_with(lease)
    assert json.loads(run("queue", "extend", QUEUE_ID, "h", "--visibility", "300").stdout) == lease
    assert api.bodies() == [{"receipt_handle": "h", "visibility": 300}]


def test_a_named_queue_costs_one_look_before_the_send(run: Run, api: FakeApi) -> None:
    api.answers_with({"queues": [queue_json()], "next_cursor": None})
    api.answers_with(SENT, status=201)
    assert run("queue", "send", "jobs", "x").exit_code == 0
    assert len(api.requests) == 2
