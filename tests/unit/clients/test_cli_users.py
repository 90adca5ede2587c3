"""The commands about the company's users, and `use`, which chooses one."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from naive.cli import config
from tests.unit.clients.fake_api import BASE_URL, KEY, USER_ID, FakeApi, Run, user_json

OTHER_ID = "44444444-4444-4444-8444-444444444444"


@pytest.fixture
def stored(home: Path) -> Path:
    """The configuration of somebody who acts for a user."""
    config.store({"api_key": KEY, "base_url": BASE_URL, "active_user_id": OTHER_ID})
    return home / ".naive" / "config.json"


def active_user(file: Path) -> object:
    return json.loads(file.read_text()).get("active_user_id")


def test_users_are_made_listed_shown_changed_and_deleted(run: Run, api: FakeApi) -> None:
    page = {"users": [user_json()], "next_cursor": None}
    for answer in (user_json(), page, user_json(), user_json()):
        api.answers_with(answer)
    api.answers_with(status=204)
    details = ["--external-id", "4711", "--email", "ada@example.com", "--label", "Ada"]
    assert json.loads(run("users", "create", *details).stdout) == user_json()
    assert json.loads(run("users", "list").stdout) == page
    assert json.loads(run("users", "show", USER_ID).stdout) == user_json()
    assert json.loads(run("users", "update", USER_ID, "--label", "Lovelace").stdout) == user_json()
    deleted = run("users", "delete", USER_ID)
    assert (deleted.stdout, deleted.stderr) == ("", f"Deleted {USER_ID}.\n")
    assert [f"{r.method} {str(r.url).removeprefix(BASE_URL)}" for r in api.requests] == [
        "POST /v1/users",
        "GET /v1/users?limit=100",
        f"GET /v1/users/{USER_ID}",
        f"PATCH /v1/users/{USER_ID}",
        f"DELETE /v1/users/{USER_ID}",
    ]
    assert api.bodies() == [
        {"external_id": "4711", "email": "ada@example.com", "label": "Ada"},
        {"label": "Lovelace"},
    ]


def test_no_user_is_acted_for_where_users_are_managed(run_bare: Run, api: FakeApi, stored: Path) -> None:
    api.answers_with(user_json(), status=201)
    run_bare("users", "create")
    assert str(api.requests[0].url) == f"{BASE_URL}/v1/users"
    assert "x-naive-user-id" not in api.requests[0].headers


def test_a_long_list_says_how_to_go_on(run: Run, api: FakeApi) -> None:
    api.answers_with({"users": [user_json()], "next_cursor": "abc"})
    api.answers_with({"users": [], "next_cursor": None})
    assert "--cursor abc" in run("users", "list", "--limit", "1").stderr
    run("users", "list", "--cursor", "abc")
    assert api.requests[1].url.params["cursor"] == "abc"


@pytest.mark.usefixtures("on_terminal")
@pytest.mark.parametrize("columns", [30, 60, 80, 140])
def test_no_width_hides_who_a_user_is(run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    ada = user_json(label="A" * 40, external_id="4711", is_default=True)
    api.answers_with({"users": [ada, user_json(id=OTHER_ID)], "next_cursor": None})
    shown = run("users", "list").stdout
    assert shown.count("A") == 40
    assert all(text in shown for text in (USER_ID, OTHER_ID, "4711"))
    assert "email" not in shown  # which nobody has


def test_a_change_of_nothing_is_wrong_usage(run: Run) -> None:
    result = run("users", "update", USER_ID)
    assert result.exit_code == 2
    assert "at least one of --external-id, --email and --label" in result.stderr


def test_a_user_with_queues_goes_with_force_only(run: Run, api: FakeApi) -> None:
    hint = "Delete them first, or pass force=true to destroy all that the user has."
    api.refuses_with("conflict", 409, hint=hint, details={"reason": "user_has_resources"})
    api.answers_with(status=204)
    refused = run("users", "delete", USER_ID)
    assert refused.exit_code == 1
    assert "or pass --force to destroy all" in refused.stderr
    assert run("users", "delete", USER_ID, "--force").exit_code == 0
    assert api.requests[1].url.params["force"] == "true"


@pytest.mark.usefixtures("on_terminal")
def test_a_deletion_asks_on_a_terminal(run: Run, api: FakeApi) -> None:
    api.answers_with(user_json(external_id="4711", label="Ada\x1b[2J"))
    refused = run("users", "delete", USER_ID, "--force", input="n\n")
    assert refused.exit_code == 1
    named = f"user {USER_ID} (external id '4711', label 'Ada\\x1b[2J')"
    assert f"Delete {named} with all that it has?" in refused.stderr
    api.answers_with(user_json())
    for _ in range(2):
        api.answers_with(status=204)
    agreed = run("users", "delete", USER_ID, input="y\n")
    assert agreed.exit_code == 0
    assert f"Delete user {USER_ID}?" in agreed.stderr
    assert run("users", "delete", USER_ID, "--yes").exit_code == 0
    assert [request.method for request in api.requests] == ["GET", "GET", "DELETE", "DELETE"]


def test_a_user_is_found_by_the_companys_own_id(run: Run, api: FakeApi) -> None:
    api.answers_with({"users": [user_json()], "next_cursor": None})
    assert json.loads(run("users", "list", "--external-id", "4711").stdout)["users"] == [user_json()]
    assert api.requests[0].url.params["external_id"] == "4711"


@pytest.mark.parametrize("words", [("create",), ("update", USER_ID)])
def test_an_external_id_that_is_taken_says_how_to_see_by_whom(run: Run, api: FakeApi, words: tuple[str, ...]) -> None:
    said, hint = "there is a user with external_id '4711'", "Choose another name."
    error = {"code": "already_exists", "message": said, "hint": hint, "details": {"id": OTHER_ID}, "request_id": "r"}
    api.answers_with({"error": error}, status=409)
    told = run("users", *words, "--external-id", "4711").stderr
    assert told.startswith(f"Error: {said}\nHint: `naive users show {OTHER_ID}` shows who has it.")
    assert "another --external-id" in told
    assert "another name" not in told


WAYS = [
    (("--user", USER_ID), {}, USER_ID, "--user names", "leave it out"),
    ((), {"NAIVE_ACTIVE_USER_ID": USER_ID}, USER_ID, "NAIVE_ACTIVE_USER_ID names", "unset it"),
    ((), {}, OTHER_ID, "`naive use` chose", "naive use default"),
]


@pytest.mark.parametrize(("flag", "variables", "user", "source", "way_back"), WAYS)
def test_who_is_acted_for_and_by_whose_word_is_told_when_it_may_be_why(
    run_bare: Run,
    api: FakeApi,
    stored: Path,
    monkeypatch: pytest.MonkeyPatch,
    flag: tuple[str, ...],
    variables: dict[str, str],
    user: str,
    source: str,
    way_back: str,
) -> None:
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    api.refuses_with("not_found", 404)
    api.answers_with({"queues": [], "next_cursor": None})
    api.refuses_with("key_subject_mismatch", 403)
    gone = run_bare("queue", "list", *flag).stderr
    assert f"acts for user {user}, whom {source}." in gone
    assert way_back in gone
    elsewhere = run_bare("queue", "show", "jobs", *flag).stderr
    assert f"No queue is called 'jobs' among those of user {user}, whom {source}." in elsewhere
    mismatch = run_bare("queue", "list", *flag).stderr
    assert f"acts for user {user}, whom {source}: " in mismatch
    assert way_back in mismatch
    assert ("--user names" in mismatch) == bool(flag)


def test_nobody_is_told_of_a_user_whom_nobody_named(run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAIVE_ACTIVE_USER_ID", USER_ID)
    api.answers_with({"queues": [], "next_cursor": None})
    run("queue", "list")
    for code in ("not_found", "key_subject_mismatch"):
        api.refuses_with(code, 403 if "key" in code else 404)
        told = run("queue", "list", "--user", "default").stderr
        assert USER_ID not in told
        assert "--user" not in told


def test_the_deletion_of_the_active_user_says_that_it_is(run_bare: Run, api: FakeApi, stored: Path) -> None:
    api.answers_with(status=204)
    assert "naive use default" in run_bare("users", "delete", OTHER_ID).stderr


WITH_A_USER = [
    ("users", "show"),
    ("users", "update", "--label=x"),
    ("users", "delete"),
    ("keys", "create", "--name=x", "--user"),
]


@pytest.mark.parametrize("words", WITH_A_USER)
def test_who_is_not_there_can_be_looked_for(run: Run, api: FakeApi, words: tuple[str, ...]) -> None:
    api.refuses_with("not_found", 404)
    result = run(*words, USER_ID)
    assert result.exit_code == 1
    assert "Hint: `naive users list` shows those there are." in result.stderr


def test_use_looks_the_user_up_and_keeps_it(run_bare: Run, api: FakeApi, stored: Path) -> None:
    api.answers_with(user_json())
    result = run_bare("use", USER_ID)
    assert (result.exit_code, result.stderr) == (0, f"Acting for user {USER_ID}.\n")
    assert str(api.requests[0].url) == f"{BASE_URL}/v1/users/{USER_ID}"
    assert active_user(stored) == USER_ID


@pytest.mark.parametrize(
    ("code", "status", "told"),
    [
        ("not_found", 404, "naive users list"),
        ("key_subject_mismatch", 403, "a key that is not sealed"),
        ("unauthorized", 401, "naive login"),
    ],
)
def test_use_keeps_nobody_who_is_not_there_for_this_key(
    run_bare: Run, api: FakeApi, stored: Path, code: str, status: int, told: str
) -> None:
    api.refuses_with(code, status)
    result = run_bare("use", USER_ID)
    assert result.exit_code == 1
    assert told in result.stderr
    assert active_user(stored) == OTHER_ID


def test_use_of_what_is_no_id_is_refused_without_a_call(run_bare: Run, stored: Path) -> None:
    assert run_bare("use", "..").exit_code == 1
    assert active_user(stored) == OTHER_ID


@pytest.mark.parametrize("failure", [httpx.ConnectError("refused"), httpx.ReadTimeout("slow")])
def test_use_keeps_a_user_that_cannot_be_looked_up_as_login_keeps_a_key(
    run_bare: Run, api: FakeApi, stored: Path, failure: Exception
) -> None:
    for _ in range(4):
        api.breaks_with(failure)
    result = run_bare("use", USER_ID)
    assert result.exit_code == 0
    assert "The user could not be looked up: No " in result.stderr
    assert active_user(stored) == USER_ID


def test_use_keeps_nobody_when_what_answers_is_not_the_api(run_bare: Run, api: FakeApi, stored: Path) -> None:
    api.answers_with(b"<html>Welcome</html>")
    assert run_bare("use", USER_ID).exit_code == 1
    assert active_user(stored) == OTHER_ID


def test_use_without_a_key_says_what_is_missing(run_bare: Run, home: Path) -> None:
    result = run_bare("use", USER_ID)
    assert result.exit_code == 1
    assert "naive login" in result.stderr
    assert not (home / ".naive").exists()
