"""What tasks write comes to CloudWatch whole and in order, and is bounded where it does not get there."""

import os
import subprocess
from collections.abc import Iterator
from typing import IO, Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError

from local.runner import output as output_module
from local.runner.output import Output
from local.stack import Stack
from tests.unit.local.runner.conftest import LOG_GROUP, logged, until


@pytest.fixture
def output(stack: Stack) -> Iterator[Output]:
    output = Output(stack)
    yield output
    output.close()


def pipe_of(script: str) -> IO[bytes]:
    process = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    process.wait()
    assert process.stdout is not None
    return process.stdout


def test_lines_of_both_streams_are_written_in_order_without_empty_ones(output: Output) -> None:
    output.follow(LOG_GROUP, "s/worker/1", pipe_of("echo 1; echo 2 >&2; echo; printf '3\\r\\n4'"))
    assert logged(4) == ["1", "2", "3", "4"]


def test_a_line_comes_as_soon_as_it_is_written_not_when_the_task_ends(output: Output) -> None:
    read, write = os.pipe()
    output.follow(LOG_GROUP, "s/worker/1", os.fdopen(read, "rb"))
    os.write(write, b"early\n")
    assert logged(1) == ["early"]
    os.close(write)


def test_long_lines_are_cut_and_what_is_no_text_is_replaced(output: Output) -> None:
    output.follow(LOG_GROUP, "s/worker/1", pipe_of("printf '%020000d\\n' 0; printf '\\377\\n'"))
    assert [len(line) for line in logged(3)] == [16_384, 3616, 1]
    assert logged(3)[-1] == "�"


def test_more_lines_than_one_call_takes_are_all_written(output: Output) -> None:
    output.follow(LOG_GROUP, "s/worker/1", pipe_of("seq 1 1000"))
    logs = boto3.client("logs")

    def written() -> list[str]:
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=LOG_GROUP)
        return [event["message"] for page in pages for event in page["events"]]

    assert until(written, lambda lines: len(lines) == 1000) == [str(number) for number in range(1, 1001)]


def test_what_was_written_last_is_written_before_the_end(stack: Stack) -> None:
    output = Output(stack)
    output.follow(LOG_GROUP, "s/worker/1", pipe_of("echo last words"))
    output.close()
    assert logged() == ["last words"]


def test_lines_wait_while_cloudwatch_does_not_answer(output: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([EndpointConnectionError(endpoint_url="x")] * 2)
    put = output._logs.put_log_events

    def sometimes(**arguments: Any) -> Any:
        for fault in answers:
            raise fault
        return put(**arguments)

    monkeypatch.setattr(output._logs, "put_log_events", sometimes)
    output.say(LOG_GROUP, "s/worker/1", "kept")
    assert logged(1) == ["kept"]


def test_of_more_lines_than_are_kept_the_oldest_are_lost(
    output: Output, monkeypatch: pytest.MonkeyPatch, stack: Stack
) -> None:
    monkeypatch.setattr(output_module, "_KEPT", 3)
    monkeypatch.setattr(output, "_write_stream", lambda _stream: None)
    output.follow(LOG_GROUP, "s/worker/1", pipe_of("seq 1 100"))
    (stream,) = output._streams
    until(lambda: stream.lines, lambda lines: bool(lines) and lines[-1]["message"] == "100")
    assert [line["message"] for line in stream.lines] == ["98", "99", "100"]
    stream.lines.clear()


def test_a_refusal_loses_the_lines_and_says_so(output: Output, capsys: pytest.CaptureFixture[str]) -> None:
    output.say("/no/such/group", "s/worker/1", "lost")
    output.say(LOG_GROUP, "s/worker/1", "kept")
    assert logged(1) == ["kept"]
    assert "s/worker/1: 1 lines are lost" in capsys.readouterr().out


def test_a_task_that_is_over_is_forgotten(output: Output) -> None:
    output.follow(LOG_GROUP, "s/worker/1", pipe_of("echo 1"))
    until(lambda: output._streams, lambda streams: not streams)
    assert logged() == ["1"]
