"""Sending a file: lines, batches, and what happens to those that fail."""

from __future__ import annotations

import errno
import io
import json
from pathlib import Path

import httpx
import pytest

from naive.cli.queue.lines import read_lines
from naive.constants import MAX_BATCH_BYTES, MAX_BODY_BYTES
from tests.unit.clients.fake_api import QUEUE_ID, FakeApi, Run, fifo_json, queue_json


def sent(*names: str) -> dict[str, object]:
    return {"results": [{"message_id": name} for name in names]}


def refused(code: str) -> dict[str, object]:
    return {"error": {"code": code, "message": f"This is {code}."}}


def bodies(content: bytes) -> list[tuple[int, str]]:
    return [(line.number, line.body) for line in read_lines(io.BytesIO(content))]


def test_a_line_loses_its_end_and_nothing_else() -> None:
    assert bodies(b' {"a": 1} \n\r\n\ntwo\r\n\xef\xbb\xbfthree\r\r\nlast') == [
        (1, ' {"a": 1} '),
        (4, "two"),
        (5, "\ufeffthree\r"),
        (6, "last"),
    ]


def test_other_separators_do_not_end_a_line() -> None:
    assert bodies("a\u2028b\x0bc\x85d".encode()) == [(1, "a\u2028b\x0bc\x85d")]


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_the_largest_message_fits_and_one_byte_more_does_not(end: bytes) -> None:
    largest = b"x" * MAX_BODY_BYTES
    fits, too_large, after = read_lines(io.BytesIO(largest + b"\n" + largest + b"x\r\n" + b"after" + end))
    assert fits.fault is None
    assert too_large.fault is not None
    assert too_large.fault.code == "payload_too_large"
    assert (after.number, after.body) == (3, "after")


def test_a_line_without_end_is_not_kept_in_memory() -> None:
    class Endless(io.BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            assert size is not None
            assert 0 < size <= MAX_BODY_BYTES + 2
            return super().readline(size)

    (line,) = read_lines(Endless(b"x" * (3 * MAX_BODY_BYTES)))
    assert line.fault is not None
    assert line.size == 3 * MAX_BODY_BYTES


def test_a_line_that_is_not_text_is_at_fault_alone() -> None:
    good, bad, next_good = read_lines(io.BytesIO(b"a\n\xff\nb\n"))
    assert [good.fault, next_good.fault] == [None, None]
    assert bad.fault is not None
    assert bad.fault.message == "The line is not UTF-8 at byte 0."


def test_lines_are_sent_as_bodies_in_batches_of_a_hundred(run: Run, api: FakeApi, tmp_path: Path) -> None:
    file = tmp_path / "jobs.jsonl"
    file.write_text("".join(f'{{"body": "{number}"}}\n' for number in range(150)))
    api.answers_with(queue_json())
    api.answers_with(sent(*(f"m{number}" for number in range(100))))
    api.answers_with(sent(*(f"m{number}" for number in range(100, 150))))
    result = run("queue", "send", QUEUE_ID, "--file", str(file), "--delay", "9")
    assert result.exit_code == 0
    first, second = api.bodies()
    assert first["messages"][0] == {"body": '{"body": "0"}', "delay_seconds": 9}
    assert (len(first["messages"]), len(second["messages"])) == (100, 50)
    assert "Sent 150 messages, 0 failed." in result.stderr
    ids = [entry["message_id"] for line in result.stdout.splitlines() for entry in json.loads(line)["results"]]
    assert ids == [f"m{number}" for number in range(150)]


def test_a_request_stays_within_two_mebibytes(run: Run, api: FakeApi) -> None:
    lines = ["x" * 700_000, '"' * 400_000, "é" * 350_000, "y" * 900_000]
    api.answers_with(queue_json())
    api.answers_with(sent("a", "b"))
    api.answers_with(sent("c", "d"))
    assert run("queue", "send", QUEUE_ID, "--file", "-", input="\n".join(lines).encode()).exit_code == 0
    assert all(len(request.content) <= MAX_BATCH_BYTES for request in api.requests)
    assert [message["body"] for body in api.bodies() for message in body["messages"]] == lines


def test_a_fair_message_that_json_makes_too_long_for_a_batch_goes_alone(run: Run, api: FakeApi) -> None:
    api.answers_with(queue_json())
    api.answers_with(sent("a"))
    api.answers_with({"message_id": "b"}, status=201)
    api.refuses_with("payload_too_large", 413)
    quotes = '"' * MAX_BODY_BYTES
    result = run("queue", "send", QUEUE_ID, "--file", "-", input=f"a\n{quotes}\n{quotes}\n")
    assert result.exit_code == 1
    assert [request.url.path.split(QUEUE_ID)[1] for request in api.requests] == [
        "",
        "/messages/batch",
        "/messages",
        "/messages",
    ]
    assert "Line 3: This is payload_too_large. (payload_too_large)" in result.stderr
    assert "Sent 2 messages, 1 failed." in result.stderr


def test_only_what_failed_for_the_moment_is_sent_again(run: Run, api: FakeApi) -> None:
    api.answers_with(queue_json())
    api.answers_with({"results": [{"message_id": "a"}, refused("unavailable"), refused("invalid_input")]})
    api.answers_with({"results": [refused("rate_limited")]})
    api.answers_with(sent("b"))
    result = run("queue", "send", QUEUE_ID, "--file", "-", input="one\ntwo\n\nthree\n")
    assert [[message["body"] for message in body["messages"]] for body in api.bodies()] == [
        ["one", "two", "three"],
        ["two"],
        ["two"],
    ]
    assert len(api.slept) == 2
    assert result.exit_code == 1
    assert "Line 4: This is invalid_input. (invalid_input)" in result.stderr
    assert "Sent 2 messages, 1 failed." in result.stderr
    assert json.loads(result.stdout) == {
        "results": [{"message_id": "a"}, {"message_id": "b"}, refused("invalid_input")]
    }


def test_a_line_that_stays_unavailable_fails_and_the_rest_goes_on(run: Run, api: FakeApi) -> None:
    lines = "".join(f"{number}\n" for number in range(101))
    api.answers_with(queue_json())
    api.answers_with({"results": [{"message_id": "m"}] * 99 + [refused("unavailable")]})
    for _ in range(3):
        api.answers_with({"results": [refused("unavailable")]})
    api.answers_with(sent("last"))
    result = run("queue", "send", QUEUE_ID, "--file", "-", input=lines)
    assert result.exit_code == 1
    assert "Line 100: This is unavailable. (unavailable)" in result.stderr
    assert "Sent 100 messages, 1 failed." in result.stderr


def test_on_a_fifo_queue_nothing_overtakes_a_line_that_failed(run: Run, api: FakeApi) -> None:
    lines = "".join(f"{number}\n" for number in range(101))
    api.answers_with(fifo_json())
    api.answers_with({"results": [{"message_id": "m"}] * 99 + [refused("unavailable")]})
    for _ in range(3):
        api.answers_with({"results": [refused("unavailable")]})
    result = run("queue", "send", QUEUE_ID, "--file", "-", "--group", "g", input=lines)
    assert result.exit_code == 1
    assert "Stopped after line 100" in result.stderr
    assert len(api.bodies()) == 4


def test_a_fifo_batch_whose_answer_was_lost_is_sent_again(run: Run, api: FakeApi) -> None:
    api.answers_with(fifo_json(content_based_dedup=False))
    api.breaks_with(httpx.ReadTimeout("slow"))
    api.answers_with(sent("a", "b"))
    assert run("queue", "send", QUEUE_ID, "--file", "-", "--group", "g", input="one\ntwo\n").exit_code == 0
    first, second = api.bodies()
    assert first == second
    assert all(message["dedup_id"] for message in first["messages"])


def test_a_lost_answer_stops_the_file_and_names_the_lines_in_doubt(run: Run, api: FakeApi) -> None:
    api.answers_with(queue_json())
    api.answers_with(sent(*(f"m{number}" for number in range(100))))
    api.breaks_with(httpx.ReadTimeout("slow"))
    result = run("queue", "send", QUEUE_ID, "--file", "-", input="".join(f"{number}\n" for number in range(250)))
    assert result.exit_code == 1
    assert "Stopped at lines 101 to 200, which may have been sent." in result.stderr
    assert "Sent 100 messages" in result.stderr
    assert "(no_answer)" in result.stderr


def test_a_refused_batch_stops_the_file_and_says_that_it_was_not_sent(run: Run, api: FakeApi) -> None:
    api.answers_with(queue_json())
    api.refuses_with("not_found", 404)
    result = run("queue", "send", QUEUE_ID, "--file", "-", input="one\ntwo\n")
    assert result.exit_code == 1
    assert "Stopped at lines 1 to 2, which were not sent." in result.stderr


def test_an_answer_for_another_number_of_messages_is_not_believed(run: Run, api: FakeApi) -> None:
    api.answers_with(queue_json())
    api.answers_with(sent("a"))
    result = run("queue", "send", QUEUE_ID, "--file", "-", input="one\ntwo\n")
    assert result.exit_code == 1
    assert "1 results for 2 messages" in result.stderr


def test_a_file_of_faulty_lines_calls_nobody(run: Run, api: FakeApi) -> None:
    api.answers_with(queue_json())
    result = run("queue", "send", QUEUE_ID, "--file", "-", input=b"\xff\n\n")
    assert result.exit_code == 1
    assert "Line 1" in result.stderr
    assert len(api.requests) == 1


@pytest.mark.usefixtures("on_terminal")
def test_a_terminal_gets_the_summary_alone(run: Run, api: FakeApi) -> None:
    api.answers_with(queue_json())
    api.answers_with(sent("a"))
    result = run("queue", "send", QUEUE_ID, "--file", "-", input="one\n")
    assert (result.stdout, result.stderr) == ("", "Sent 1 message, 0 failed.\n")


def test_duplicates_that_a_fifo_queue_drops_are_counted(run: Run, api: FakeApi) -> None:
    lines = "".join(f"{number}\n" for number in range(101))
    api.answers_with(fifo_json())
    api.answers_with(sent(*["a", "b", "a"] * 33, "c"))
    api.answers_with(sent("c"))
    result = run("queue", "send", QUEUE_ID, "--file", "-", "--group", "g", input=lines)
    assert result.exit_code == 0
    assert result.stderr == "Sent 101 messages, 0 failed. Duplicates, which are not delivered: 98.\n"


def test_only_so_many_ids_are_remembered(run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("naive.cli.queue.bulk._REMEMBERED", 2)
    api.answers_with(fifo_json())
    api.answers_with(sent("a", "b", "c", "a"))
    result = run("queue", "send", QUEUE_ID, "--file", "-", "--group", "g", input="1\n2\n3\n4\n")
    assert result.stderr == "Sent 4 messages, 0 failed.\n"


def test_a_file_that_cannot_be_read_on_is_named(run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(io.BytesIO):
        name = "/mnt/jobs.jsonl"

        def readline(self, size: int | None = -1) -> bytes:
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "open", lambda *_: Broken())
    api.answers_with(queue_json())
    result = run("queue", "send", QUEUE_ID, "--file", "/mnt/jobs.jsonl")
    assert result.exit_code == 1
    assert "Error: Input/output error: /mnt/jobs.jsonl." in result.stderr
