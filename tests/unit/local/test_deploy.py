"""When a deployment is due, and what a failed one shows."""

import json
import time
from pathlib import Path

import pytest

from local import deploy
from local.environments import Environment
from local.stack import Stack
from local.steps import LocalError

BROKEN_LAYER = """\
python3.13 -m compileall -q python
*** Error compiling 'python/tenancy/auth.py'...
  File "/opt/python/tenancy/auth.py", line 85
    def broken(:
               ^
SyntaxError: invalid syntax


Build Failed
Error: CustomMakeBuilder:MakeBuild - Make Failed: make: *** [Makefile:12: build-TenancyLayer] Error 1
"""
NO_INDEX = """\
Starting Build use cache

Build Failed
Error: CustomMakeBuilder:MakeBuild - Make Failed: error: Request failed after 3 retries in 4.3s
  cause: Failed to fetch: http://127.0.0.1:9/simple/boto3/
  cause: Connection refused (os error 111)
make: *** [Makefile:20: build-RuntimeLayer] Error 2
"""
BROKEN_YAML = """\
Error: Failed to parse template: while parsing a flow sequence
  in "<unicode string>", line 40, column 10:
    Globals: [
             ^
expected ',' or ']', but got ':'
"""
ROLLED_BACK = """\
CREATE_COMPLETE      AWS::Logs::LogGroup    AccessLogs
CREATE_FAILED        AWS::SQS::Queue        Jobs          A long reason that
                                                          goes on
ROLLBACK_COMPLETE    AWS::CloudFormation    naive-local   Rollback complete
Error: Failed to create the stack
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in ("functions/health", "layers/tenancy", "requirements"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("template.yaml", "samconfig.toml", "functions/health/app.py", "requirements/some.lock"):
        (tmp_path / file).write_text("as it was")
    environment = Environment(tmp_path / "env", tmp_path / "requirements" / "some.lock")
    monkeypatch.setattr(deploy, "ROOT", tmp_path)
    monkeypatch.setattr(deploy, "SAM", environment)
    monkeypatch.setattr(deploy, "EMULATOR", environment)
    return tmp_path


@pytest.mark.parametrize(
    "file", ["template.yaml", "samconfig.toml", "functions/health/app.py", "requirements/some.lock"]
)
def test_any_source_that_changes_makes_it_due(checkout: Path, file: str) -> None:
    before = deploy.fingerprint()
    (checkout / file).write_text("otherwise")
    assert deploy.fingerprint() != before


def test_a_file_that_comes_or_moves_makes_it_due(checkout: Path) -> None:
    before = deploy.fingerprint()
    (checkout / "layers" / "tenancy" / "new.py").touch()
    added = deploy.fingerprint()
    (checkout / "layers" / "tenancy" / "new.py").rename(checkout / "layers" / "tenancy" / "other.py")
    assert len({before, added, deploy.fingerprint()}) == 3


def test_bytecode_of_a_test_run_does_not(checkout: Path) -> None:
    before = deploy.fingerprint()
    (checkout / "functions" / "health" / "__pycache__").mkdir()
    (checkout / "functions" / "health" / "__pycache__" / "app.cpython-313.pyc").touch()
    assert deploy.fingerprint() == before


@pytest.mark.parametrize(
    "text, first, also, last",
    [
        (BROKEN_LAYER, "*** Error compiling", ['auth.py", line 85', "SyntaxError: invalid"], "Error: CustomMake"),
        (NO_INDEX, "Error: CustomMake", ["Failed to fetch: http://127.0.0.1:9", "Connection refused"], "make: ***"),
        (BROKEN_YAML, "Error: Failed to parse", ["line 40, column 10"], "expected ',' or ']'"),
        (ROLLED_BACK, "CREATE_FAILED AWS::SQS::Queue Jobs A long reason that goes on", [], "Error: Failed to create"),
    ],
)
def test_a_failed_command_says_why_and_where(tmp_path: Path, text: str, first: str, also: list[str], last: str) -> None:
    log = tmp_path / "sam.log"
    log.write_text(text)
    shown = deploy.reasons(log)
    lines = shown.splitlines()
    assert lines[0].startswith(f"  | {first}")
    assert lines[-1].startswith(f"  | {last}")
    assert all(words in shown for words in also)
    assert "COMPLETE" not in shown


def test_a_long_error_keeps_its_beginning_and_its_last_line(tmp_path: Path) -> None:
    log = tmp_path / "sam-build.log"
    log.write_text("\n".join(["Error: 0", *(str(number) for number in range(1, 100))]))
    assert deploy.reasons(log).splitlines() == ["  | Error: 0", *(f"  | {n}" for n in range(1, 15)), "  | …", "  | 99"]


def test_sam_keeps_nothing_in_the_callers_home_and_asks_for_no_newer_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sam = tmp_path / "env" / "bin" / "sam"
    sam.parent.mkdir(parents=True)
    sam.write_text('#!/bin/sh\necho "$__SAM_CLI_APP_DIR"; cat "$__SAM_CLI_APP_DIR/metadata.json"; exit 1\n')
    sam.chmod(0o755)
    monkeypatch.setattr(deploy, "SAM", Environment(tmp_path / "env", tmp_path / "some.lock"))
    stack = Stack(tmp_path / "home", 4600)
    for folder in (stack.logs, stack.scratch):
        folder.mkdir(parents=True)
    with pytest.raises(LocalError) as failed:
        deploy._sam(stack, "build", environment={})
    place, settings, _ = str(failed.value).splitlines()
    assert place.startswith(f"  | {stack.scratch}/")
    asked = json.loads(settings.removeprefix("  | "))["lastVersionCheck"]
    assert time.time() - 60 < asked <= time.time()
    assert list(stack.scratch.iterdir()) == []


def test_of_one_without_errors_its_end_is_shown(tmp_path: Path) -> None:
    log = tmp_path / "sam-build.log"
    log.write_text("\n".join(str(number) for number in range(100)))
    assert deploy.reasons(log).splitlines() == [f"  | {number}" for number in range(85, 100)]
