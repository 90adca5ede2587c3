"""The layers agree with the code, and their builds call their tools as they must. What they ship is tested apart."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from layers.runtime.trim import SERVICES
from tests.template import ROOT

# Stands in for a tool: it tells what it was called with, and which certificates uv would trust.
TELLS = '#!/bin/sh\necho "$UV_SYSTEM_CERTS"\nfor word in "$@"; do echo "$word"; done\n'
TARGETS = [("runtime", "build-RuntimeLayer"), ("tenancy", "build-TenancyLayer")]
layers = pytest.mark.parametrize("layer, target", TARGETS)


def make(layer: str, target: str, tools: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the layer's make target with no tools but these and the shell's own."""
    return subprocess.run(
        [str(shutil.which("make")), "--silent", "-C", ROOT / "layers" / layer, target],
        env={"PATH": str(tools), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with stand-ins for what the builds call."""
    for name in ("uv", "python3.13"):
        (tmp_path / name).write_text(TELLS)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def test_the_services_in_use_are_those_that_the_code_asks_for() -> None:
    code = [*(ROOT / "layers" / "tenancy").rglob("*.py"), *(ROOT / "functions").rglob("*.py")]
    asked = {name for path in code for name in re.findall(r"client\(\s*[\"']([a-z0-9-]+)[\"']", path.read_text())}
    assert asked == set(SERVICES)


def test_tests_run_on_the_versions_that_the_layer_ships() -> None:
    shipped = _pins(ROOT / "layers" / "runtime" / "requirements.lock")
    tested = _pins(ROOT / "requirements" / "dev.lock")
    assert shipped.items() <= tested.items()


@layers
def test_a_missing_tool_is_named_in_one_line(layer: str, target: str, tmp_path: Path) -> None:
    done = make(layer, target, tmp_path, ARTIFACTS_DIR=str(tmp_path))
    assert done.returncode != 0
    assert "is not on PATH: run 'make setup'" in done.stderr.splitlines()[0]


@layers
def test_a_folder_of_any_name_is_built_into(layer: str, target: str, tools: Path) -> None:
    artifacts = """/a $b ${c} $(d) "e" 'f' `g` #h"""
    done = make(layer, target, tools, ARTIFACTS_DIR=artifacts)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if line.startswith("/a ")]
    assert set(told) <= {artifacts, f"{artifacts}/python", f"{artifacts}/python/tenancy"}
    assert len(told) >= 3


@layers
def test_without_a_folder_nothing_is_built(layer: str, target: str, tools: Path) -> None:
    done = make(layer, target, tools)
    assert done.returncode != 0
    assert "ARTIFACTS_DIR" in done.stderr


@pytest.mark.parametrize("said, trusted", [({}, "true"), ({"UV_SYSTEM_CERTS": "false"}, "false")])
def test_uv_trusts_what_the_machine_trusts_unless_it_is_told_otherwise(
    tools: Path, said: dict[str, str], trusted: str
) -> None:
    done = make("runtime", "build-RuntimeLayer", tools, ARTIFACTS_DIR="/a", **said)
    assert done.stdout.splitlines()[:3] == [trusted, "pip", "install"]


def _pins(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", lock.read_text(), re.M))
