"""Users and keys with the `naive` command: whose turn it is, and what a key opens."""

import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.e2e.conftest import BIN, Cli, unique
from tests.e2e.deployed import environment

NOBODY = "99999999-9999-4999-8999-999999999999"
SEEN_EVERYWHERE_SECONDS = 5


@dataclass
class KeyHolder(Cli):
    """The command in the hands of somebody with another key."""

    key: str

    @property
    def env(self) -> dict[str, str]:
        return {**super().env, "NAIVE_API_KEY": self.key}


@pytest.fixture
def user(cli: Cli) -> Iterator[str]:
    """The id of a new user."""
    made: str = cli.json("users", "create", "--label", "Ada")["id"]
    yield made
    words(cli, "users", "delete", made, "--force")


@pytest.fixture
def sealed(cli: Cli, user: str) -> KeyHolder:
    """The command with a key that is sealed to the new user."""
    return KeyHolder(cli.home, cli.json("keys", "create", "--name", unique(), "--user", user)["api_key"])


def words(cli: Cli, *arguments: str, code: int | None = None) -> str:
    """What a command says on stderr."""
    run = subprocess.run(
        [BIN / "naive", *arguments], input=b"", capture_output=True, env=cli.env, timeout=120, check=False
    )
    assert code is None or run.returncode == code, run.stderr.decode()
    return run.stderr.decode()


def config(cli: Cli) -> dict[str, str]:
    file = cli.home / ".naive/config.json"
    stored: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    return stored


def listed(cli: Cli, noun: str) -> list[dict[str, object]]:
    """What is on all pages of a list."""
    found: list[dict[str, object]] = []
    more: list[str] = []
    while True:
        page = cli.json(noun, "list", "--limit", "2", *more)
        found += page[noun]
        if page["next_cursor"] is None:
            return found
        more = ["--cursor", page["next_cursor"]]


def test_a_users_life(cli: Cli) -> None:
    own_id = unique()
    made = cli.json("users", "create", "--external-id", own_id, "--email", "ada@example.com")
    assert (made["external_id"], made["email"], made["label"]) == (own_id, "ada@example.com", None)
    assert (made["status"], made["is_default"]) == ("active", False)
    taken = words(cli, "users", "create", "--external-id", own_id, code=1)
    assert "already_exists" in taken
    assert f"naive users show {made['id']}" in taken
    assert cli.json("users", "list", "--external-id", own_id)["users"] == [made]
    changed = cli.json("users", "update", made["id"], "--label", "Ada")
    assert changed == {**made, "label": "Ada"}
    assert cli.json("users", "show", made["id"]) == changed
    assert changed in listed(cli, "users")
    cli("users", "delete", made["id"])
    assert "naive users list" in words(cli, "users", "show", made["id"], code=1)
    assert cli.json("users", "list", "--external-id", own_id)["users"] == []
    again = cli.json("users", "create", "--external-id", own_id)
    assert again["id"] != made["id"]
    cli("users", "delete", again["id"], "--yes")


def test_the_default_user_has_a_name_and_stays(cli: Cli) -> None:
    default = cli.json("users", "show", "default")
    assert default["is_default"]
    assert cli.json("users", "show", default["id"]) == default
    assert "default user" in words(cli, "users", "delete", default["id"], "--force", code=1)


def test_use_acts_for_a_user_and_goes_back(cli: Cli, user: str) -> None:
    name = unique()
    cli("use", user)
    assert cli.json("queue", "create", "--name", name)["user_id"] == user
    assert [queue["name"] for queue in cli.json("queue", "list")["queues"]] == [name]
    cli("use", "default")
    cli("queue", "show", name, code=1)
    assert cli.json("queue", "show", name, "--user", user)["name"] == name


@pytest.mark.parametrize("nobody", [NOBODY, "not-an-id"])
def test_use_of_a_user_that_is_not_there_keeps_the_one_before(cli: Cli, user: str, nobody: str) -> None:
    cli("use", user)
    assert "naive users list" in words(cli, "use", nobody, code=1)
    assert config(cli) == {"active_user_id": user}


def test_a_user_with_queues_goes_with_force_only(cli: Cli, user: str) -> None:
    queue = cli.json("queue", "create", "--name", unique(), "--user", user)["id"]
    assert "--force" in words(cli, "users", "delete", user, code=1)
    assert cli.json("queue", "show", queue, "--user", user)["id"] == queue
    cli("users", "delete", user, "--force")
    cli("users", "show", user, code=1)
    time.sleep(SEEN_EVERYWHERE_SECONDS)
    assert f"acts for user {user}, whom --user names" in words(cli, "queue", "list", "--user", user, code=1)


def test_a_sealed_key_cannot_leave_its_user(cli: Cli, user: str, sealed: KeyHolder) -> None:
    assert sealed.json("queue", "create", "--name", unique())["user_id"] == user
    assert sealed.json("users", "show", user)["label"] == "Ada"
    default = cli.json("users", "show", "default")["id"]
    for elsewhere in (("queue", "list", "--user", default), ("queue", "list", "--user", NOBODY), ("use", default)):
        assert "(key_subject_mismatch, status 403" in words(sealed, *elsewhere, code=1)
    for of_the_company in (
        ("users", "list"),
        ("users", "create"),
        ("users", "update", user, "--label", "x"),
        ("users", "delete", user),
        ("keys", "list"),
        ("keys", "create", "--name", "x"),
        ("keys", "revoke", NOBODY),
    ):
        assert "(forbidden, status 403" in words(sealed, *of_the_company, code=1)
    assert config(sealed) == {}


def test_a_key_is_shown_once_and_listed_by_its_end(cli: Cli, user: str) -> None:
    name = unique()
    made = cli.json("keys", "create", "--name", name, "--user", user)
    (key,) = (key for key in listed(cli, "keys") if key["name"] == name)
    assert (key["key_id"], key["last_4"], key["revoked"]) == (made["key_id"], made["api_key"][-4:], False)
    assert key["active_tenant_user_id"] == user
    assert made["api_key"] not in cli("keys", "list")


def test_a_revoked_key_is_good_for_nothing_within_five_seconds(cli: Cli) -> None:
    made = cli.json("keys", "create", "--name", unique())
    holder = KeyHolder(cli.home, made["api_key"])
    holder("queue", "list")
    cli("keys", "revoke", made["key_id"])
    time.sleep(SEEN_EVERYWHERE_SECONDS)
    assert "(unauthorized, status 401" in words(holder, "queue", "list", code=1)
    assert "naive keys list" in words(cli, "keys", "revoke", made["key_id"], code=1)


def test_the_stored_key_is_changed_for_another_without_showing_either(cli: Cli) -> None:
    before = environment("NAIVE_API_KEY")
    env = {name: value for name, value in cli.env.items() if name != "NAIVE_API_KEY"}
    subprocess.run([BIN / "naive", "login"], input=before.encode(), env=env, check=True, timeout=60)
    made = subprocess.run(
        [BIN / "naive", "keys", "create", "--name", unique()], env=env, capture_output=True, check=True, timeout=60
    )
    api_key = json.loads(made.stdout)["api_key"]
    login = subprocess.run(
        [BIN / "naive", "login"], input=api_key.encode(), env=env, capture_output=True, check=True, timeout=60
    )
    assert config(cli)["api_key"] == api_key != before
    for secret in (before, api_key):
        assert secret.encode() not in login.stdout + login.stderr


@pytest.mark.parametrize("path", ["/v1", "/elsewhere"])
def test_login_stores_nothing_for_an_address_where_the_api_is_not(cli: Cli, path: str) -> None:
    key, url = environment("NAIVE_API_KEY"), environment("NAIVE_BASE_URL") + path
    login = subprocess.run(
        [BIN / "naive", "login", "--base-url", url],
        input=key.encode(),
        env=cli.env,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert login.returncode == 1
    assert b"base URL" in login.stderr
    assert config(cli) == {}


@pytest.mark.parametrize("arguments", [("login",), ("login", "--api-key"), ("use",), ("queue", "show"), ()])
def test_a_key_among_the_arguments_is_refused_and_not_repeated(cli: Cli, arguments: tuple[str, ...]) -> None:
    key = environment("NAIVE_API_KEY")
    said = words(cli, *arguments, key, code=2)
    assert "naive login < key.txt" in said
    assert not any(key[start : start + 8] in said for start in range(len("nv_sk_live_"), len(key) - 7))
