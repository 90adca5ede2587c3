"""The package as a whole: its names, its version, its tree of errors."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import naive
from naive import errors

PROJECT = Path(__file__).parents[3] / "clients" / "python" / "pyproject.toml"


@pytest.mark.parametrize("name", naive.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(naive, name) is not None


def test_a_name_that_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="Nothing"):
        naive.Nothing  # noqa: B018


def test_the_version_is_the_one_that_is_published() -> None:
    assert tomllib.loads(PROJECT.read_text())["project"]["version"] == naive.__version__


def test_the_tree_of_errors_is_the_one_that_is_drawn() -> None:
    drawn = re.findall(r"\w+Error", str(errors.__doc__))
    assert drawn == [kind.__name__ for kind in _with_heirs(errors.NaiveError)]
    assert set(drawn) <= set(naive.__all__)


def test_help_does_not_wait_for_the_http_client() -> None:
    loaded = "import sys, naive.cli.app; print([m for m in ('httpx', 'rich', 'naive.models') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_program_that_only_sends_does_not_load_the_consumer() -> None:
    loaded = "import sys, naive.blocking.client; print([m for m in sys.modules if m.startswith('naive.consumer')])"
    assert subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_next_to_nothing_is_loaded_before_ctrl_c_can_be_answered() -> None:
    loaded = "import sys; before = {*sys.modules}; import naive.cli; print(*sorted({*sys.modules} - before))"
    started = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    others = {name for name in started.stdout.split() if not name.startswith("importlib")}
    assert others <= {"__future__", "naive", "naive.cli", "naive.constants", "warnings"}


def _with_heirs(kind: type[Exception]) -> list[type[Exception]]:
    return [kind, *(heir for child in kind.__subclasses__() for heir in _with_heirs(child))]
