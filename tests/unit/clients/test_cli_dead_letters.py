"""Looking at dead letters, moving them back, and watching a queue."""

from __future__ import annotations

import json

import pytest

from tests.unit.clients.fake_api import QUEUE_ID, FakeApi, Run, message_json, queue_json

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


@pytest.mark.usefixtures("on_terminal")
@pytest.mark.parametrize("columns", [30, 50, 80, 120])
def test_dead_letters_can_be_read_at_any_width(
    run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    api.answers_with({"messages": [letter(message_id=QUEUE_ID, body="the start of a body " + "x" * 500)]})
    shown = run("queue", "dlq", QUEUE_ID).stdout
    assert QUEUE_ID in shown
    assert "the start of a body xxx" in shown


def test_redrive_repeats_until_nothing_is_left_to_move(run: Run, api: FakeApi) -> None:
    api.answers_with(COUNTS)
    api.answers_with(moved(1000, 500))
    api.answers_with(moved(300, 0))
    api.answers_with(moved(0, 0))
    result = run("queue", "redrive", QUEUE_ID)
    assert result.exit_code == 0
    assert json.loads(result.stdout) == moved(1300, 0)
    assert "Moved 1,300 messages, 0 left." in result.stderr
    assert api.bodies() == [{"max": 1000}, {"max": 500}, {"max": 200}]
    assert len({request.headers["idempotency-key"] for request in api.requests[1:]}) == 3


def test_redrive_ends_although_all_that_it_moves_comes_back(run: Run, api: FakeApi) -> None:
    for answer in (COUNTS, moved(1000, 1500), moved(500, 1500)):
        api.answers_with(answer)
    result = run("queue", "redrive", QUEUE_ID)
    assert result.exit_code == 1
    assert "Moved 1,500 messages, 1,500 left." in result.stderr


def test_redrive_does_not_trust_a_count_of_none(run: Run, api: FakeApi) -> None:
    for answer in ({**COUNTS, "dlq_depth": 0}, moved(7, 0), moved(0, 0)):
        api.answers_with(answer)
    assert json.loads(run("queue", "redrive", QUEUE_ID).stdout)["moved"] == 7


def test_one_message_is_not_called_messages(run: Run, api: FakeApi) -> None:
    for answer in ({**COUNTS, "dlq_depth": 1}, moved(1, 0)):
        api.answers_with(answer)
    assert run("queue", "redrive", QUEUE_ID).stderr == "Moved 1 message, 0 left.\n"


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
    assert "Moved 0 messages, 2 left." in result.stderr


def watched(**counts: object) -> dict[str, object]:
    """A queue as a look at it gives it."""
    return queue_json(attributes={**COUNTS, **counts})


def test_watch_prints_one_line_of_json_a_look(run: Run, api: FakeApi) -> None:
    api.answers_with(json.dumps(watched(), indent=1).encode())
    api.answers_with(watched(depth=7))
    result = run("queue", "watch", QUEUE_ID, "--count", "2", "--interval", "5")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [COUNTS, {**COUNTS, "depth": 7}]
    assert api.slept == [5.0]


@pytest.mark.usefixtures("on_terminal")
def test_watch_draws_a_table_on_a_terminal(run: Run, api: FakeApi) -> None:
    api.answers_with(watched())
    table = run("queue", "watch", QUEUE_ID, "--count", "1").stdout
    assert "dead letters" in table
    assert "1500" in table
    assert "workers" not in table


@pytest.mark.usefixtures("on_terminal")
@pytest.mark.parametrize("columns", [20, 80])
def test_counts_keep_all_their_digits_at_any_width(
    run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    api.answers_with({**COUNTS, "depth": 123_456_789})
    api.answers_with(watched(depth=123_456_789))
    assert "123456789" in run("queue", "attributes", QUEUE_ID).stdout
    assert "123456789" in run("queue", "watch", QUEUE_ID, "--count", "1").stdout


@pytest.mark.parametrize("interval", ["nan", "inf", "-inf", "1e10", "0.1", "-1"])
def test_an_interval_out_of_range_is_wrong_usage(run: Run, interval: str) -> None:
    result = run("queue", "watch", QUEUE_ID, "--interval", interval)
    assert result.exit_code == 2
    assert "equal to 3600" in result.stderr or "equal to 0.5" in result.stderr


def test_watching_ends_with_ctrl_c_like_every_command(run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupted)
    api.answers_with(watched())
    result = run("queue", "watch", QUEUE_ID)
    assert (result.exit_code, result.stderr) == (130, "")
