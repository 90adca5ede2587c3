"""The commands about API keys, and that no word of the command line repeats one."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from naive.cli.dialect import translated
from tests.unit.clients.fake_api import (
    BASE_URL,
    KEY,
    KEY_ID,
    QUEUE_ID,
    USER_ID,
    FakeApi,
    Run,
    key_json,
    new_key_json,
)


def test_a_new_key_is_the_apis_json_when_piped(run: Run, api: FakeApi) -> None:
    api.answers_with(new_key_json(), status=201)
    api.answers_with(new_key_json(active_tenant_user_id=USER_ID), status=201)
    result = run("keys", "create", "--name", "ci")
    assert json.loads(result.stdout) == new_key_json()
    assert result.stderr == ""
    run("keys", "create", "--name", "worker", "--user", USER_ID)
    assert str(api.requests[1].url) == f"{BASE_URL}/v1/auth/keys"
    assert api.bodies() == [{"name": "ci"}, {"name": "worker", "active_tenant_user_id": USER_ID}]


@pytest.mark.usefixtures("on_terminal")
def test_a_new_key_on_a_terminal_is_told_to_be_shown_once(run: Run, api: FakeApi) -> None:
    api.answers_with(new_key_json(), status=201)
    result = run("keys", "create", "--name", "ci")
    assert f"api_key                {KEY}\n" in result.stdout
    assert "shown once" in result.stderr
    assert KEY not in result.stderr


def test_a_new_key_is_not_sealed_to_the_active_user_and_says_so(
    run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAIVE_ACTIVE_USER_ID", USER_ID)
    api.answers_with(new_key_json(), status=201)
    told = run("keys", "create", "--name", "ci").stderr
    assert "for the whole company" in told
    assert f"add --user {USER_ID}" in told
    assert str(api.requests[0].url) == f"{BASE_URL}/v1/auth/keys"
    assert "x-naive-user-id" not in api.requests[0].headers
    assert api.bodies() == [{"name": "ci"}]


def test_a_key_that_was_lost_on_the_way_is_a_failure_that_names_it(run: Run, api: FakeApi) -> None:
    api.breaks_with(httpx.ReadTimeout("slow"))
    api.answers_with(new_key_json(api_key=None), status=201)
    result = run("keys", "create", "--name", "ci")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"Revoke the key {KEY_ID} and make another." in result.stderr


def test_keys_are_listed_and_revoked(run: Run, api: FakeApi) -> None:
    page = {"keys": [key_json()], "next_cursor": "abc"}
    api.answers_with(page)
    api.answers_with(status=204)
    api.refuses_with("not_found", 404)
    listed = run("keys", "list", "--limit", "1")
    assert json.loads(listed.stdout) == page
    assert "--cursor abc" in listed.stderr
    assert run("keys", "revoke", KEY_ID).stderr == f"Revoked {KEY_ID}.\n"
    gone = run("keys", "revoke", KEY_ID)
    assert gone.exit_code == 1
    assert "`naive keys list` shows those there are." in gone.stderr
    assert str(api.requests[1].url) == f"{BASE_URL}/v1/auth/keys/{KEY_ID}"


@pytest.mark.usefixtures("on_terminal")
@pytest.mark.parametrize("columns", [30, 80, 140])
def test_no_width_hides_which_key_is_whose(
    run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    sealed = key_json(active_tenant_user_id=USER_ID, last_4="wxyz", revoked=True)
    api.answers_with({"keys": [key_json(name="N" * 50), sealed], "next_cursor": None})
    shown = run("keys", "list").stdout
    assert shown.count(KEY_ID) == 2
    assert shown.count("N") == 50
    assert all(text in shown for text in (USER_ID, "wxyz", "yes"))


@pytest.mark.usefixtures("on_terminal")
@pytest.mark.parametrize("columns", [80, 100, 120, 140])
@pytest.mark.parametrize("user", [None, USER_ID])
def test_the_last_use_of_a_key_is_a_day_at_any_width(
    run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch, columns: int, user: str | None
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    used = key_json(last_used_at="2026-11-30T00:00:00Z", active_tenant_user_id=user)
    api.answers_with({"keys": [used], "next_cursor": None})
    shown = run("keys", "list").stdout
    assert "2026-11-30" in shown
    assert KEY_ID in shown
    assert "00:00" not in shown


@pytest.mark.usefixtures("on_terminal")
def test_a_revocation_asks_on_a_terminal_and_says_which_key_it_is(run: Run, api: FakeApi) -> None:
    api.answers_with({"keys": [key_json(key_id=USER_ID)], "next_cursor": "c"})
    api.answers_with({"keys": [key_json(last_4="wxyz")], "next_cursor": None})
    refused = run("keys", "revoke", KEY_ID, input="n\n")
    assert refused.exit_code == 1
    assert f"Revoke key 'ci' that ends with wxyz ({KEY_ID})?" in refused.stderr
    api.answers_with(status=204)
    assert run("keys", "revoke", KEY_ID, "--yes").exit_code == 0
    assert [request.method for request in api.requests] == ["GET", "GET", "DELETE"]


@pytest.mark.usefixtures("on_terminal")
def test_a_key_that_is_not_listed_is_asked_for_by_its_id(run: Run, api: FakeApi) -> None:
    api.answers_with({"keys": [], "next_cursor": None})
    assert f"Revoke key {KEY_ID}?" in run("keys", "revoke", KEY_ID, input="n\n").stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("login", KEY),
        ("login", "--api-key", KEY),
        ("login", f"--api-key={KEY}"),
        ("login", f"--{KEY}"),
        (KEY,),
        (f"--{KEY}", "login"),
        ("queue", KEY),
        ("queue", "list", KEY),
        ("queue", "list", "--limit", KEY),
        ("queue", "list", f"--json={KEY}"),
        ("queue", "list", "--user", KEY),
        ("queue", "list", "--base-url", f"https://api.example.com/{KEY}"),
        ("queue", "show", KEY),
        ("queue", "ack", QUEUE_ID, "h", KEY),
        ("queue", "send", QUEUE_ID, "--file", KEY),
        ("queue", "send", QUEUE_ID, "two", "bodies", KEY),
        ("use", KEY),
        ("users", "show", KEY),
        ("users", "create", "--label", KEY),
        ("keys", "create", "--name", KEY),
        ("keys", "revoke", KEY),
    ],
)
def test_a_key_among_the_arguments_is_refused_and_not_repeated(run: Run, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "k" * 8 not in result.output
    assert "now in the shell's history" in result.stderr
    assert "ends with kkkk." in result.stderr
    assert "`naive keys revoke`" in result.stderr
    assert "`naive login < key.txt`" in result.stderr


def test_a_key_in_a_body_is_sent_with_a_warning(run: Run, api: FakeApi) -> None:
    api.answers_with({"message_id": "m"}, status=201)
    result = run("queue", "send", QUEUE_ID, json.dumps({"key": KEY}))
    assert result.exit_code == 0
    assert api.bodies() == [{"body": json.dumps({"key": KEY})}]
    assert result.stderr.startswith("Warning: There is an API key among the arguments")


def test_the_example_of_a_key_is_no_key(run: Run, api: FakeApi) -> None:
    api.answers_with({"message_id": "m"}, status=201)
    assert run("queue", "send", QUEUE_ID, "nv_sk_live_…").stderr == ""


def test_a_key_in_the_place_of_the_address_is_not_repeated(
    run_bare: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAIVE_BASE_URL", KEY)
    result = run_bare("login", input=KEY)
    assert result.exit_code == 1
    assert "The base URL 'nv_sk_live_…' has to start with" in result.stderr


def test_a_line_that_is_being_completed_gets_no_warning(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_NAIVE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"naive queue show {KEY} ")
    monkeypatch.setenv("COMP_CWORD", "4")
    assert run().stderr == ""


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('Leave .fifo off the name and say "type": "fifo".', "Leave .fifo off the name and say --fifo."),
        ("max_receive_count is for queues with dlq true", "--max-receives is for queues with --dlq"),
        ("visibility_timeout must be 0 to 43200, not 50000", "--visibility must be 0 to 43200, not 50000"),
        ("messages.3.group_id is missing", "messages.3.group_id is missing"),
        ("my_group_ids", "my_group_ids"),
        ("there is a user with external_id 'c-1'", "there is a user with external_id 'c-1'"),
    ],
)
def test_the_apis_fields_are_told_as_options(said: str, told: str) -> None:
    assert translated(said) == told


def test_a_refusal_speaks_the_words_of_the_command_line(run: Run, api: FakeApi) -> None:
    hint = 'Leave .fifo off the name and say "type": "fifo".'
    api.answers_with({"error": {"code": "invalid_input", "message": "name", "hint": hint}}, status=400)
    assert "Hint: Leave .fifo off the name and say --fifo.\n" in run("queue", "create", "--name", "x").stderr
