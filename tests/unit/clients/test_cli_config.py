"""Where the command line takes its key, address and user from, and where it keeps them."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import httpx
import pytest

from naive.cli import config
from tests.unit.clients.fake_api import BASE_URL, KEY, FakeApi, Run

PAGE: dict[str, object] = {"queues": [], "next_cursor": None}
OTHER_URL = "https://api.example.com/base"


def stored(home: Path) -> dict[str, str]:
    loaded: dict[str, str] = json.loads((home / ".naive" / "config.json").read_text())
    return loaded


def write(home: Path, **fields: str) -> None:
    (home / ".naive").mkdir()
    (home / ".naive" / "config.json").write_text(json.dumps(fields))


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


def test_login_without_an_address_keeps_the_key_for_later(run_bare: Run, home: Path) -> None:
    assert run_bare("login", input=KEY).exit_code == 0
    assert stored(home) == {"api_key": KEY}


def test_login_refuses_an_empty_key_and_has_no_argument_for_one(run_bare: Run, home: Path) -> None:
    assert run_bare("login", input="\n").exit_code == 1
    assert run_bare("login", KEY).exit_code == 2
    assert not (home / ".naive").exists()


def test_use_keeps_the_active_user_and_the_rest(run_bare: Run, home: Path) -> None:
    write(home, api_key=KEY, colour="green")
    assert run_bare("use", "u-1").exit_code == 0
    assert stored(home) == {"api_key": KEY, "colour": "green", "active_user_id": "u-1"}


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


def test_a_broken_file_is_named(run_bare: Run, home: Path) -> None:
    (home / ".naive").mkdir()
    (home / ".naive" / "config.json").write_text("{oops")
    result = run_bare("queue", "list")
    assert result.exit_code == 1
    assert "config.json" in result.stderr


def test_a_store_that_fails_half_way_leaves_the_old_file_and_no_other(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, api_key="old")

    def full(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="disk full"):
        config.store(api_key=KEY)
    assert stored(home) == {"api_key": "old"}
    assert [file.name for file in (home / ".naive").iterdir()] == ["config.json"]
