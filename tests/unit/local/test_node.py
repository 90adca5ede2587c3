"""What is said where Node is missing or too old."""

import os
import subprocess
from pathlib import Path

import pytest

from local.environments import ROOT


def check(path: str) -> subprocess.CompletedProcess[str]:
    command = ["/bin/sh", str(ROOT / "local/node.sh")]
    return subprocess.run(command, env={"PATH": path}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("status", [None, 1])
def test_without_a_node_that_is_new_enough_one_is_asked_for(tmp_path: Path, status: int | None) -> None:
    if status is not None:
        (tmp_path / "node").write_text(f"#!/bin/sh\nexit {status}\n")
        (tmp_path / "node").chmod(0o755)
    done = check(str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith("Node 20.19 or newer with npm is missing")


def test_the_node_that_is_here_will_do() -> None:
    done = check(os.environ["PATH"])
    assert (done.returncode, done.stderr) == (0, "")
