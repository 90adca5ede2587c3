"""What is shown of functions that fail, also of those that cannot be loaded."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from local import company, logs
from local.stack import Stack
from local.steps import LocalError

NOT_LOADED = "Warm worker execution error for naive-local-health: Worker init failed: No module named 'nonsense'"
EMULATOR_LOG = f"""\
2026-11-30 15:42:05 INFO [ssm] SSM PutParameter: /naive/local/deployed v5 type=String
2026-11-30 15:42:08 ERROR [lambda] Warm worker execution error for naive-local-health: something earlier
2026-11-30 15:42:10 ERROR [lambda] {NOT_LOADED}
2026-11-30 15:42:11 ERROR [lambda] {NOT_LOADED}
"""
UNHANDLED = '{"level":"ERROR","message":"unhandled","fault":"ValueError"}'


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    stack = Stack(tmp_path, 4600)
    stack.logs.mkdir()
    (stack.logs / "emulator.log").write_text(EMULATOR_LOG)
    messages = ["START RequestId: 1", UNHANDLED + "\n", '{"status":500}\n', "END RequestId: 1"]
    events = [{"logStreamName": "s", "timestamp": 1, "message": message} for message in messages]
    client: Any = SimpleNamespace(
        get_paginator=lambda _name: SimpleNamespace(paginate=lambda **_arguments: [{"events": events}]),
        exceptions=SimpleNamespace(ResourceNotFoundException=KeyError),
    )
    monkeypatch.setattr(Stack, "client", lambda *_arguments: client)
    return stack


def test_the_last_errors_are_the_emulators_and_a_functions_own(stack: Stack) -> None:
    assert logs.last_errors(stack, 0) == [NOT_LOADED, UNHANDLED]


def test_an_api_that_does_not_answer_says_why_and_where_there_is_more(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(company, "HEALTHY_WITHIN", -1)
    monkeypatch.setattr(company, "_status", lambda _url: 502)
    with pytest.raises(LocalError) as failed:
        company.wait_healthy(stack, "http://127.0.0.1:4600/x")
    *said, last = str(failed.value).splitlines()
    assert said == [f"  | {NOT_LOADED}", f"  | {UNHANDLED}"]
    assert last.startswith("GET http://127.0.0.1:4600/x/health answers 502, not 200: see above and ")
    assert last.endswith("logs/emulator.log.")


def test_following_shows_functions_that_cannot_be_loaded_once(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pauses = iter(range(2))
    monkeypatch.setattr(logs, "time", SimpleNamespace(sleep=lambda _seconds: next(pauses)))
    with pytest.raises(StopIteration):
        logs.follow(stack, 0)
    assert capsys.readouterr().out.count(NOT_LOADED) == 1
