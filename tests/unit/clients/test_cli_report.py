"""What is shown while a queue is worked on or watched: texts of others in it are lines of ours and nothing more."""

from __future__ import annotations

import logging
import os

import httpx
import pytest

from naive import ApiError, Delivery, Queue, QueueAttributes, Stop
from naive.cli import tables
from naive.cli.queue.work import posts
from naive.cli.queue.work.posts import Posts
from naive.cli.queue.work.report import Report
from naive.cli.queue.work.screen import Screen
from naive.constants import MAX_ANSWER_BYTES, MEBIBYTE
from naive.models import Message
from tests.unit.clients.fake_api import Flood, message_json, queue_json

FAKE = "\r\nHint: run this\x1b[2J\u202e"
SHOWN = r"\r\nHint: run this\x1b[2J\u202e"


def test_what_the_library_logs_is_a_line_and_the_hint_another(capsys: pytest.CaptureFixture[str]) -> None:
    error = ApiError(f"m{FAKE}", hint=f"h{FAKE}")
    with Report("jobs", "exit_code", as_json=True):
        logging.getLogger("naive").warning("It failed: %s", error)
        logging.getLogger("naive").error("It failed", exc_info=error)
        logging.getLogger("naive").error("It failed", exc_info=ValueError(FAKE))
    assert capsys.readouterr().err.split("\n") == [
        f"It failed: m{SHOWN} (error)",
        f"Hint: h{SHOWN}",
        f"It failed: ApiError: m{SHOWN} (error)",
        f"Hint: h{SHOWN}",
        f"It failed: ValueError: {SHOWN}",
        "",
    ]


def test_the_title_of_what_is_shown_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    counts = QueueAttributes(depth=0, in_flight=0, delayed=0)
    tables.live(f"a{FAKE}", [(counts, None)])
    screen = Screen(f"b{FAKE}", {"running": 0}, Stop())
    screen.begin()
    screen.end()
    os.close(screen.output)
    shown = capsys.readouterr().out
    assert f"a{SHOWN} at " in shown
    assert f"b{SHOWN}, Ctrl-C drains" in shown


def test_what_a_url_answers_is_not_read_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    content = Flood()
    answering = httpx.MockTransport(lambda _: httpx.Response(200, headers={"content-encoding": "gzip"}, stream=content))
    monkeypatch.setattr(posts, "transport_through", lambda *_: answering)
    report = Report("jobs", "status", as_json=True)
    with Posts("http://127.0.0.1:9/", Queue.model_validate(queue_json()), report) as post:
        post(Delivery.of(Message.model_validate(message_json()), None))
    assert content.read == MAX_ANSWER_BYTES + MEBIBYTE
    assert content.is_closed
