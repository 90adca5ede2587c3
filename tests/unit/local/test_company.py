"""The file that a user sources."""

import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from local import company
from local.environments import ROOT

BASE_URL = "http://127.0.0.1:4566/_aws/execute-api/abc"
KEY = "nv_sk_live_" + "k" * 43


@pytest.fixture
def env_file(tmp_path: Path) -> Path:
    return tmp_path / "a b" / "env"


@pytest.fixture(autouse=True)
def written(env_file: Path) -> None:
    env_file.parent.mkdir()
    company.write_env_file(env_file, BASE_URL, KEY)


@pytest.mark.parametrize("shell", [shell for shell in ("sh", "bash", "zsh", "dash", "ksh") if shutil.which(shell)])
def test_every_shell_reads_it_and_reading_it_twice_lengthens_no_path(env_file: Path, shell: str) -> None:
    script = '. "$1"; . "$1"; env'
    done = subprocess.run(
        [str(shutil.which(shell)), "-c", script, shell, str(env_file)],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert (found["NAIVE_BASE_URL"], found["NAIVE_API_KEY"]) == (BASE_URL, KEY)
    assert found["PATH"] == f"{ROOT}/.venv/bin:/usr/bin:/bin"


def test_only_its_owner_can_read_it(env_file: Path) -> None:
    assert stat.S_IMODE(env_file.stat().st_mode) == 0o600


def test_its_key_is_known_to_the_next_run(env_file: Path) -> None:
    assert company.known_key(env_file) == KEY


def test_without_a_file_no_key_is_known(env_file: Path) -> None:
    env_file.unlink()
    assert company.known_key(env_file) is None


def test_writing_it_again_replaces_it_whole_and_leaves_nothing_beside_it(env_file: Path) -> None:
    with env_file.open() as as_it_was:
        company.write_env_file(env_file, BASE_URL, KEY.upper())
        assert KEY in as_it_was.read()
    assert company.known_key(env_file) == KEY.upper()
    assert list(env_file.parent.iterdir()) == [env_file]
