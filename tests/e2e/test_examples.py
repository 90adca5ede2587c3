"""The examples of the Python library, on the deployed stack."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from naive import Naive, Queue
from tests.e2e.conftest import unique
from tests.e2e.deployed import environment
from tests.e2e.programs import free_port, running, wake_poll
from tests.e2e.test_thousand_jobs import wait_for
from tests.template import ROOT

EXAMPLES = ROOT / "clients/python/examples"


@pytest.fixture
def naive() -> Iterator[Naive]:
    with Naive(environment("NAIVE_API_KEY"), environment("NAIVE_BASE_URL")) as client:
        yield client


@pytest.fixture
def queue(naive: Naive) -> Queue:
    return naive.queue.create(unique(), visibility_timeout=120)


def is_empty(naive: Naive, queue: Queue) -> bool:
    counts = naive.queue.attributes(queue)
    return counts.depth + counts.in_flight + counts.delayed == 0


def test_a_worker_drains_when_it_is_told_to_end(naive: Naive, queue: Queue, tmp_path: Path) -> None:
    naive.queue.send_batch(queue, [{"body": body} for body in ("not yet", "a", "b", "c", "d", "e")])
    with running(tmp_path, EXAMPLES / "worker.py", NAIVE_QUEUE_ID=queue.id) as worker:
        wait_for(lambda: worker.written.count("done ") == 6)
        worker.process.send_signal(signal.SIGTERM)
        wake_poll(naive, queue.id)
        assert "7 done, 0 failed, 1 given back" in worker.ends()
    counts = naive.queue.attributes(queue)
    assert (counts.depth, counts.in_flight, counts.delayed) == (0, 0, 0)


def test_a_web_app_puts_what_it_is_asked_for_on_the_queue(naive: Naive, queue: Queue, tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    body = '{"url": "https://…"}'
    with running(tmp_path, EXAMPLES / "web_app.py", NAIVE_QUEUE_ID=queue.id, PORT=str(port)) as app:
        app.says("listening")
        answer = httpx.post(f"{url}/thumbnails", content=body)
        assert answer.status_code == 202
        (message,) = naive.queue.receive(queue, wait=10)
        assert (message.message_id, message.body) == (answer.json()["id"], body)
        assert message.attributes == {"kind": "thumbnail"}
        assert httpx.post(f"{url}/thumbnails").status_code == 503
        assert httpx.get(f"{url}/thumbnails").status_code == 404


def test_a_receiver_of_webhooks_is_given_what_is_sent_and_believes_nobody_else(
    naive: Naive, queue: Queue, tmp_path: Path
) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/hook"
    secret = str(naive.queue.consumer.set(queue, type="webhook", url=url).secret)
    with running(tmp_path, EXAMPLES / "webhook.py", WEBHOOK_SECRET=secret, PORT=str(port)) as receiver:
        receiver.says("listening")
        sent = naive.queue.send(queue, "héllo 🐘", attributes={"kind": "x"})
        receiver.says(f"{sent.message_id}: héllo 🐘")
        assert httpx.post(url, content="x").status_code == 401
        wait_for(lambda: is_empty(naive, queue))
