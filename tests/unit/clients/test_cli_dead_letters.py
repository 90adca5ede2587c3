"""Looking at dead letters, moving them back, and watching a queue."""

from __future__ import annotations

import json

import pytest

from tests.unit.clients.fake_api import QUEUE_ID, FakeApi, Run, message_json

COUNTS = {"depth": 3, "in_flight": 2, "delayed": 1, "dlq_depth": 1500}


def moved(number: int, remaining: int) -> dict[str, object]:
    return {"moved": number, "remaining": remaining, "not_found": [], "not_reached": []}


def letter(**fields: object) -> dict[str, object]:
    message = message_json(**fields)
    return {name: message[name] for name in ("message_id", "body", "receive_count", "sent_at")}


def test_dead_letters_are_looked_at(run: Run, api: FakeApi) -> None:
    answer = {"messages": [letter()]}
    api.answers_with(answer)
    assert json.loads(run("queue", "dlq", QUEUE_ID).stdout) == answer
    assert api.requests[0].method == "GET"


@pytest.mark.usefixtures("on_terminal")
def test_a_terminal_gets_dead_letters_as_rows(run: Run, api: FakeApi) -> None:
    api.answers_with({"messages": [letter(body="poison\nsecond line", receive_count=5)]})
    assert "poison second line" in run("queue", "dlq", QUEUE_ID).stdout


def test_redrive_repeats_until_nothing_is_left_to_move(run: Run, api: FakeApi) -> None:
    api.answers_with(COUNTS)
    api.answers_with(moved(1000, 500))
    api.answers_with(moved(500, 0))
    api.answers_with(moved(0, 0))
    result = run("queue", "redrive", QUEUE_ID)
    assert result.exit_code == 0
    assert json.loads(result.stdout) == moved(1500, 0)
    assert "Moved 1,500 messages, 0 remain." in result.stderr
    assert api.bodies() == [{"max": 1000}] * 3
    assert len({request.headers["idempotency-key"] for request in api.requests[1:]}) == 3


def test_redrive_is_patient_with_letters_that_somebody_looks_at(run: Run, api: FakeApi) -> None:
    for answer in (COUNTS, moved(0, 2), moved(2, 0), moved(0, 0)):
        api.answers_with(answer)
    assert json.loads(run("queue", "redrive", QUEUE_ID).stdout)["moved"] == 2
    assert api.slept == [1.0]


def test_redrive_fails_when_letters_stay(run: Run, api: FakeApi) -> None:
    api.answers_with(COUNTS)
    for _ in range(3):
        api.answers_with(moved(0, 2))
    result = run("queue", "redrive", QUEUE_ID)
    assert result.exit_code == 1
    assert "2 remain" in result.stderr


def test_watch_prints_one_line_of_json_a_look(run: Run, api: FakeApi) -> None:
    api.answers_with(json.dumps(COUNTS, indent=1).encode())
    api.answers_with(COUNTS)
    result = run("queue", "watch", QUEUE_ID, "--count", "2", "--interval", "5")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [COUNTS, COUNTS]
    assert api.slept == [5.0]


@pytest.mark.usefixtures("on_terminal")
def test_watch_draws_a_table_on_a_terminal(run: Run, api: FakeApi) -> None:
    api.answers_with(COUNTS)
    table = run("queue", "watch", QUEUE_ID, "--count", "1").stdout
    assert "dead letters" in table
    assert "1500" in table


def test_watching_ends_well_with_ctrl_c(run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupted)
    api.answers_with(COUNTS)
    assert run("queue", "watch", QUEUE_ID).exit_code == 0
