"""Where the command line takes its key, address and user from, and where it keeps them."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import httpx
import pytest

from naive.cli import config
from tests.unit.clients.fake_api import BASE_URL, KEY, FakeApi, Run, user_json

PAGE: dict[str, object] = {"queues": [], "next_cursor": None}
OTHER_URL = "https://api.example.com/base"


def stored(home: Path) -> dict[str, str]:
    loaded: dict[str, str] = json.loads((home / ".naive" / "config.json").read_text())
    return loaded


def write(home: Path, text: str = "", **fields: str) -> Path:
    file = home / ".naive" / "config.json"
    file.parent.mkdir()
    file.write_text(text or json.dumps(fields))
    file.chmod(0o600)
    return file


def test_login_stores_a_piped_key_that_only_its_owner_can_read(run_bare: Run, api: FakeApi, home: Path) -> None:
    api.answers_with(PAGE)
    result = run_bare("login", "--base-url", OTHER_URL, input=f"{KEY}\n")
    assert result.exit_code == 0
    assert stored(home) == {"api_key": KEY, "base_url": OTHER_URL}
    assert stat.S_IMODE((home / ".naive" / "config.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((home / ".naive").stat().st_mode) == 0o700
    assert KEY not in result.output


@pytest.mark.usefixtures("on_terminal")
def test_login_asks_on_a_terminal_and_never_shows_the_key(run_bare: Run, api: FakeApi, home: Path) -> None:
    api.answers_with(PAGE)
    result = run_bare("login", input=f"{KEY}\n{OTHER_URL}\n")
    assert result.exit_code == 0
    assert stored(home) == {"api_key": KEY, "base_url": OTHER_URL}
    assert KEY not in result.output


def test_login_does_not_store_a_key_that_the_server_refuses(run_bare: Run, api: FakeApi, home: Path) -> None:
    api.refuses_with("unauthorized", 401)
    result = run_bare("login", "--base-url", OTHER_URL, input=KEY)
    assert result.exit_code == 1
    assert "unauthorized" in result.stderr
    assert not (home / ".naive").exists()


def test_login_stores_a_key_that_cannot_be_tried(run_bare: Run, api: FakeApi, home: Path) -> None:
    for _ in range(4):
        api.breaks_with(httpx.ConnectError("refused"))
    result = run_bare("login", "--base-url", OTHER_URL, input=KEY)
    assert result.exit_code == 0
    assert "could not be tried" in result.stderr
    assert stored(home)["api_key"] == KEY


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, {"message": "Not Found"}),
        (404, {"error": {"code": "not_found", "message": "no such user or resource", "request_id": "r"}}),
        (403, {"message": "Forbidden"}),
        (404, b"<html>nothing here</html>"),
        (200, b"<html>Welcome</html>"),
        (200, {"status": "fine"}),
    ],
)
def test_login_stores_nothing_when_another_answers(
    run_bare: Run, api: FakeApi, home: Path, status: int, body: object
) -> None:
    api.answers_with(body, status=status)
    result = run_bare("login", "--base-url", OTHER_URL, input=KEY)
    assert result.exit_code == 1
    assert "Hint: Check the base URL" in result.stderr
    assert not (home / ".naive").exists()


def test_login_without_an_address_keeps_the_key_for_later(run_bare: Run, home: Path) -> None:
    assert run_bare("login", input=KEY).exit_code == 0
    assert stored(home) == {"api_key": KEY}


def test_login_refuses_an_empty_key_and_has_no_argument_for_one(run_bare: Run, home: Path) -> None:
    assert run_bare("login", input="\n").exit_code == 1
    assert run_bare("login", KEY).exit_code == 2
    assert not (home / ".naive").exists()


@pytest.mark.parametrize(
    "address", ["foo", "http://", "https://a.b/v1", "https://a..b", "https://me:secret@api.example.com"]
)
def test_login_stores_nothing_for_an_address_that_is_none(run_bare: Run, home: Path, address: str) -> None:
    result = run_bare("login", "--base-url", address, input=KEY)
    assert result.exit_code == 1
    assert "base URL" in result.stderr
    assert "secret" not in result.stderr
    assert not (home / ".naive").exists()


def test_login_refuses_a_key_that_is_not_text(run_bare: Run, home: Path) -> None:
    result = run_bare("login", input=b"nv\xff")
    assert result.exit_code == 2
    assert "stdin is not UTF-8 at byte 2" in result.stderr


def test_use_keeps_the_active_user_and_the_rest(run_bare: Run, api: FakeApi, home: Path) -> None:
    write(home, api_key=KEY, base_url=OTHER_URL, colour="green")
    api.answers_with(user_json())
    assert run_bare("use", "u-1").exit_code == 0
    assert stored(home) == {"api_key": KEY, "base_url": OTHER_URL, "colour": "green", "active_user_id": "u-1"}


@pytest.mark.parametrize("nobody", ["default", "me"])
def test_use_of_nobody_forgets_the_active_user(run_bare: Run, home: Path, nobody: str) -> None:
    write(home, active_user_id="u-1")
    assert run_bare("use", nobody).exit_code == 0
    assert stored(home) == {}


def test_a_new_login_forgets_the_active_user_who_may_be_another_companys(run_bare: Run, home: Path) -> None:
    write(home, api_key="old", active_user_id="u-1")
    run_bare("login", input=KEY)
    assert stored(home) == {"api_key": KEY}


def test_what_is_stored_is_used(run_bare: Run, api: FakeApi, home: Path) -> None:
    write(home, api_key=KEY, base_url=OTHER_URL, active_user_id="u-1")
    api.answers_with(PAGE)
    assert run_bare("queue", "list").exit_code == 0
    assert str(api.requests[0].url).startswith(f"{OTHER_URL}/v1/users/u-1/queue?")
    assert api.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_the_environment_wins_over_what_is_stored(
    run: Run, api: FakeApi, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, api_key="old", base_url=OTHER_URL, active_user_id="u-1")
    monkeypatch.setenv("NAIVE_ACTIVE_USER_ID", "u-2")
    api.answers_with(PAGE)
    run("queue", "list")
    assert str(api.requests[0].url).startswith(f"{BASE_URL}/v1/users/u-2/queue?")
    assert api.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_flag_wins_over_both(run: Run, api: FakeApi, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home, active_user_id="u-1")
    monkeypatch.setenv("NAIVE_ACTIVE_USER_ID", "u-2")
    api.answers_with(PAGE)
    api.answers_with(PAGE)
    run("queue", "list", "--user", "u-3", "--base-url", OTHER_URL)
    run("queue", "list", "--user", "default")
    assert str(api.requests[0].url).startswith(f"{OTHER_URL}/v1/users/u-3/queue?")
    assert str(api.requests[1].url).startswith(f"{BASE_URL}/v1/queue?")


def test_an_empty_variable_is_as_good_as_none(
    run_bare: Run, api: FakeApi, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, api_key=KEY, base_url=OTHER_URL)
    monkeypatch.setenv("NAIVE_API_KEY", "")
    monkeypatch.setenv("NAIVE_ACTIVE_USER_ID", "")
    api.answers_with(PAGE)
    run_bare("queue", "list")
    assert str(api.requests[0].url).startswith(f"{OTHER_URL}/v1/queue?")


def test_without_a_key_or_an_address_the_command_says_what_to_do(run_bare: Run, home: Path) -> None:
    assert "naive login" in run_bare("queue", "list").stderr
    write(home, api_key=KEY)
    result = run_bare("queue", "list")
    assert result.exit_code == 1
    assert "NAIVE_BASE_URL" in result.stderr


BROKEN = ["{oops", "[]", '{"api_key": 5}', '{"base_url": null}', "[" * 100_000, "\x00"]


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_is_named_and_left_aside(run: Run, api: FakeApi, home: Path, text: str) -> None:
    write(home, text)
    api.answers_with(PAGE)
    result = run("queue", "list")
    assert result.exit_code == 0
    assert "config.json is no configuration" in result.stderr


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_is_no_key_and_no_reason_to_forget_one(run_bare: Run, home: Path, text: str) -> None:
    file = write(home, text)
    assert "There is no API key." in run_bare("queue", "list").stderr
    assert run_bare("use", "u-1").exit_code == 1
    assert file.read_text() == text


@pytest.mark.parametrize("text", BROKEN)
def test_login_writes_a_broken_file_anew(run_bare: Run, api: FakeApi, home: Path, text: str) -> None:
    write(home, text)
    api.answers_with(PAGE)
    assert run_bare("login", "--base-url", OTHER_URL, input=KEY).exit_code == 0
    assert stored(home) == {"api_key": KEY, "base_url": OTHER_URL}


def test_a_file_that_cannot_be_opened_is_left_aside_too(run: Run, api: FakeApi, home: Path) -> None:
    (home / ".naive" / "config.json").mkdir(parents=True)
    api.answers_with(PAGE)
    result = run("queue", "list")
    assert result.exit_code == 0
    assert "config.json cannot be read" in result.stderr


def test_nobody_needs_a_home_who_says_everything(run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    api.answers_with(PAGE)
    assert run("queue", "list").exit_code == 0
    refused = run("use", "u-1")
    assert refused.exit_code == 1
    assert "home directory" in refused.stderr


def test_a_file_that_others_can_read_is_told_and_mended(run: Run, api: FakeApi, home: Path) -> None:
    file = write(home, api_key="old")
    file.chmod(0o644)
    file.parent.chmod(0o755)
    api.answers_with(PAGE)
    assert f"chmod 600 {file}" in run("queue", "list").stderr
    run("use", "default")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    api.answers_with(PAGE)
    assert run("queue", "list").stderr == ""


def test_a_store_that_fails_half_way_leaves_the_old_file_and_no_other(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, api_key="old")

    def full(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="disk full"):
        config.store({"api_key": KEY})
    assert stored(home) == {"api_key": "old"}
    assert [file.name for file in (home / ".naive").iterdir()] == ["config.json"]
