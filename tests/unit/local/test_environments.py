"""When an environment is installed again, and when it is left alone."""

import sys
from pathlib import Path

import pytest

from local.environments import DEV, EMULATOR, SAM, Environment


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


@pytest.mark.parametrize("environment", [DEV, SAM, EMULATOR], ids=lambda each: each.folder.name)
def test_locks_hash_every_package_and_name_no_registry(environment: Environment) -> None:
    lines = environment.lock.read_text().splitlines()
    pinned = [number for number, line in enumerate(lines) if "==" in line and not line.startswith((" ", "#"))]
    assert pinned
    assert all(lines[number + 1].strip().startswith("--hash=sha256:") for number in pinned)
    assert not [line for line in lines if "://" in line]
