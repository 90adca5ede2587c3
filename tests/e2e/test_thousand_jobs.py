"""A real run: a thousand jobs, four workers, one of them killed, some jobs that nobody can do."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e import jobs
from tests.e2e.conftest import Api, Cli
from tests.template import ROOT

NUMBER, POISON, WORKERS, SEED = 1000, 20, 4, 20261130


def test_a_thousand_jobs_are_done_or_dead_and_none_is_lost(api: Api, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "jobs.jsonl"
    jobs.write(file, NUMBER, POISON, SEED)
    bodies = file.read_bytes().decode().split("\n")[:-1]
    queue = api.queue(dlq=True, max_receive_count=3, visibility_timeout=20)
    cli("queue", "send", queue, "--file", str(file))

    with working(queue, tmp_path) as (workers, history):
        wait_for(lambda: len(history(0, "acked")) > 20)
        killed_holding = kill_while_it_holds_a_lease(workers[0], history)
        wait_for(lambda: is_finished(api, queue, history), seconds=240)

    sent = {digest(body): body for body in bodies}
    acked = {line["sha256"] for line in history(None, "acked")}
    dead = dead_letters(api, queue)
    assert len(sent) == len(acked) + len(dead) == NUMBER
    assert sent.keys() == acked | dead
    assert dead == {sha256 for sha256, body in sent.items() if jobs.is_poison(body)}
    assert killed_holding <= acked | dead, "what the killed worker held was lost"
    assert history(None, "refused") == []
    counts = api.counts(queue)
    assert (counts["depth"], counts["in_flight"], counts["delayed"], counts["dlq_depth"]) == (0, 0, 0, 0)


History = Callable[[int | None, str], list[Any]]


@contextmanager
def working(queue: str, folder: Path) -> Iterator[tuple[list[subprocess.Popen[bytes]], History]]:
    """Workers of a queue, and what they have written so far: of one or all of them, of one kind."""
    files = [folder / f"worker{number}.jsonl" for number in range(WORKERS)]

    def history(worker: int | None, what: str) -> list[Any]:
        chosen = files if worker is None else [files[worker]]
        # A killed worker may have been in the middle of its last line.
        lines = [line for file in chosen for line in file.read_text().split("\n")[:-1]]
        return [entry for entry in map(json.loads, lines) if entry["what"] == what]

    command = [sys.executable, "-m", "tests.e2e.worker", queue]
    workers = []
    try:
        for file in files:
            with file.open("wb") as output:
                workers.append(subprocess.Popen(command, stdout=output, env=dict(os.environ), cwd=ROOT))
        yield workers, history
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait(30)


def kill_while_it_holds_a_lease(worker: subprocess.Popen[bytes], history: History) -> set[str]:
    """SIGKILL a worker that has leases of which nobody was told what became of them; the answer is what it held."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        worker.send_signal(signal.SIGSTOP)
        told = {line["sha256"] for line in history(0, "settling")}
        if holding := {line["sha256"] for line in history(0, "leased")} - told:
            worker.kill()
            worker.wait(10)
            return holding
        worker.send_signal(signal.SIGCONT)
        time.sleep(0.01)
    raise AssertionError("the worker never held a lease")


def is_finished(api: Api, queue: str, history: History) -> bool:
    counts = api.counts(queue)
    return bool(counts["depth"] == counts["in_flight"] == 0 and counts["dlq_depth"] == POISON)


def dead_letters(api: Api, queue: str) -> set[str]:
    """The digests of all dead letters, taken by redriving them and acknowledging the copies."""
    digests = set()
    while (moved := api("POST", f"/v1/queue/{queue}/redrive").json())["moved"]:
        for _ in range(moved["moved"]):
            (message,) = api.receive(queue, wait=5)
            digests.add(digest(message["body"]))
            api.ack(queue, message["receipt_handle"])
    return digests


def digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it never came to that"
        time.sleep(0.2)
