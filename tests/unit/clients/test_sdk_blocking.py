"""The blocking client is what its script makes of the asynchronous one."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.template import ROOT

PYTHON = ROOT / "clients/python"


def test_the_blocking_client_has_not_drifted_from_its_source() -> None:
    script = [sys.executable, str(PYTHON / "scripts/blocking.py"), "--check"]
    ended = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_nothing_asynchronous_is_left_in_the_blocking_client() -> None:
    for module in (PYTHON / "src/naive/blocking").glob("*.py"):
        code = module.read_text().partition("\n")[2]  # its first line names the source
        assert re.findall(r"(?i)\w*async\w*|\bawait\w*|\baio\b|\b__a\w+", code) == [], module.name
