"""When an environment is installed again, and when it is left alone."""

import ssl
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from local import environments
from local.environments import DEV, EMULATOR, SAM, Environment, certificates


@pytest.fixture
def installed(tmp_path: Path) -> Environment:
    (tmp_path / "some.lock").write_text("a==1")
    environment = Environment(tmp_path / "env", tmp_path / "some.lock")
    environment.python.parent.mkdir(parents=True)
    environment.python.symlink_to(sys.executable)
    environment.stamp.write_text(environment.wanted())
    return environment


def test_an_environment_as_its_lock_says_is_left_alone(installed: Environment) -> None:
    assert installed.ready()


def test_another_lock_is_installed_over_what_is_there(installed: Environment) -> None:
    installed.lock.write_text("a==2")
    assert not installed.ready()
    assert installed.usable()


def test_one_that_was_never_finished_is_made_anew(installed: Environment) -> None:
    installed.stamp.unlink()
    assert not installed.ready()
    assert not installed.usable()


def test_one_whose_interpreter_has_gone_is_made_anew(installed: Environment) -> None:
    installed.python.unlink()
    installed.python.symlink_to("/nowhere/python3.13")
    assert not installed.ready()
    assert not installed.usable()


def test_one_that_was_moved_is_made_anew_since_its_scripts_name_the_old_place(installed: Environment) -> None:
    moved = installed.folder.rename(installed.folder.parent / "moved")
    there = Environment(moved, installed.lock)
    assert not there.ready()
    assert not there.usable()


def test_a_folder_that_no_path_can_name_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(environments, "ROOT", tmp_path / "a:b")
    monkeypatch.setattr(Environment, "ready", lambda _self: False)
    assert environments.main([]) == 1
    assert capsys.readouterr().err.startswith(f"The path of this folder has a ':' in it ({tmp_path}/a:b)")
    assert list(tmp_path.iterdir()) == []


def test_the_client_is_named_from_the_checkout_whose_path_uv_would_read_as_a_url(
    installed: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, calls = installed.lock.parent, list[tuple[object, ...]]()
    monkeypatch.setattr(environments, "ROOT", root)
    monkeypatch.setattr(environments, "CLIENT", root / "clients" / "python")
    monkeypatch.setattr(environments, "DEV", installed)
    monkeypatch.setattr(environments, "_call", lambda *command: calls.append(command))
    environments.install(installed)
    assert calls[-1][-2:] == ("--editable", Path("clients/python"))


@pytest.mark.parametrize(
    "platform, file, caller, trusted",
    [
        ("linux", "/etc/ssl/cert.pem", None, "true"),
        ("linux", None, None, "false"),
        ("darwin", None, None, "true"),
        ("linux", "/etc/ssl/cert.pem", "false", "false"),
    ],
)
def test_uv_trusts_the_machines_certificates_where_it_has_any(
    monkeypatch: pytest.MonkeyPatch, platform: str, file: str | None, caller: str | None, trusted: str
) -> None:
    monkeypatch.delenv("UV_SYSTEM_CERTS", raising=False)
    if caller is not None:
        monkeypatch.setenv("UV_SYSTEM_CERTS", caller)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: SimpleNamespace(cafile=file, capath=None))
    assert certificates() == {"UV_SYSTEM_CERTS": trusted}


@pytest.mark.parametrize("environment", [DEV, SAM, EMULATOR], ids=lambda each: each.folder.name)
def test_locks_hash_every_package_and_name_no_registry(environment: Environment) -> None:
    lines = environment.lock.read_text().splitlines()
    pinned = [number for number, line in enumerate(lines) if "==" in line and not line.startswith((" ", "#"))]
    assert pinned
    assert all(lines[number + 1].strip().startswith("--hash=sha256:") for number in pinned)
    assert not [line for line in lines if "://" in line]
