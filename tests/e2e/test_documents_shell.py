"""The documents' shell, as it stands and in their order, on the deployed stack, for a company that has nothing yet."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import seen
from tests.e2e.conftest import BIN, Api, client, unique
from tests.e2e.deployed import environment, invoked
from tests.template import ROOT

# What starts and stops the stack is for whoever reads.
_NOT_HERE = re.compile(r"^(make|source) .*\n", re.MULTILINE)
# What example.com would need is a network; on the local stack loopback is allowed, and nobody is there.
_ELSEWHERE = ("https://shop.example.com/hooks/thumbs", "http://127.0.0.1:9/hooks/thumbs")
MEANT_TO_BE_REFUSED = {"http-api.md": ["scaled_by_queue", "user_has_resources"], "quickstart.md": []}


@pytest.mark.parametrize("document", MEANT_TO_BE_REFUSED)
def test_its_shell_runs_from_top_to_bottom(document: str, tmp_path: Path) -> None:
    text = (ROOT / "docs" / document).read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    script = _NOT_HERE.sub("", "\n".join(blocks)).replace(*_ELSEWHERE)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "jq").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT}/tests/e2e/jq_command.py" "$@"\n')
    (tools / "jq").chmod(0o755)
    (tmp_path / "order.xml").write_text("<order/>\n")
    key = invoked("bootstrap", company=unique())["api_key"]
    with client(key) as http:
        Api(http).queue("jobs")  # which the reader of the README has made
    done = subprocess.run(
        ["bash", "-u", "-o", "pipefail", "-c", script],
        cwd=tmp_path,
        env={
            "HOME": str(tmp_path),
            "PATH": f"{tools}:{BIN}:{os.environ['PATH']}",
            "NAIVE_BASE_URL": environment("NAIVE_BASE_URL"),
            "NAIVE_API_KEY": key,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    seen.command(("bash", document), done.stdout, done.stderr)
    assert done.returncode == 0, done.stderr + done.stdout
    assert not re.search("^(Traceback|Error)", done.stderr, re.MULTILINE), done.stderr
    refused = [error.get("details", {}).get("reason", error["code"]) for error in errors(done.stdout)]
    assert refused == MEANT_TO_BE_REFUSED[document]


def errors(output: str) -> Iterator[dict[str, Any]]:
    """What was refused as a whole, in order."""
    decoder, rest = json.JSONDecoder(), output
    while (start := rest.find('{"error"')) >= 0:
        answer, length = decoder.raw_decode(rest[start:])
        if "request_id" in answer["error"]:
            yield answer["error"]
        rest = rest[start + length :]
