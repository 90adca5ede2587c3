"""What people give to make reaches the verbs as it is."""

import shutil
import subprocess
from pathlib import Path

import pytest

from local.environments import ROOT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with our Makefile, in which every verb only tells what it was called with."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    python.chmod(0o755)
    (tmp_path / "local").mkdir()
    (tmp_path / "local" / "setup.sh").touch()
    return tmp_path


def make(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--silent", "-C", str(checkout), *arguments]
    return subprocess.run(command, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["acme", "-x", "a b", "q\"'`;&#"])
def test_a_name_is_passed_on_whatever_is_in_it(checkout: Path, name: str) -> None:
    assert make(checkout, "local-company", f"NAME={name}").stdout == f"-m\nlocal\ncompany\n--\n{name}\n"


def test_another_key_is_asked_for_by_a_word_of_its_own(checkout: Path) -> None:
    asked = make(checkout, "local-company", "NAME=acme", "NEW_KEY=1").stdout
    assert asked == "-m\nlocal\ncompany\n--new-key\n--\nacme\n"


def test_a_missing_name_is_said(checkout: Path) -> None:
    done = make(checkout, "local-company")
    assert done.returncode != 0
    assert "NAME is missing: make -s local-company NAME=acme" in done.stderr


@pytest.mark.parametrize("port", ["4600", "0", "-1", '"; echo'])
def test_a_port_is_passed_on_whatever_is_in_it(checkout: Path, port: str) -> None:
    assert make(checkout, "local", f"LOCAL_PORT={port}").stdout == f"-m\nlocal\nup\n--port={port}\n"


def test_without_a_port_none_is_passed_on(checkout: Path) -> None:
    assert make(checkout, "local").stdout == "-m\nlocal\nup\n"
