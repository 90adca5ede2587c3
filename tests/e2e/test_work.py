"""Workers on the deployed stack, `naive.queue.consume` and `naive queue work`: failures, outages, and their own end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import httpx
import pytest

from naive import Counts, Delivery, Naive, Retry, Stop
from tests.e2e import seen
from tests.e2e.conftest import BIN, Api, Cli
from tests.e2e.deployed import environment
from tests.e2e.test_thousand_jobs import wait_for

Handler = Callable[[Delivery], object]


@contextmanager
def consuming(queue: str, handler: Handler, *, base_url: str | None = None, **options: Any) -> Iterator[list[Counts]]:
    """A worker in this process while the block runs; its counts are there when the block has ended."""
    stop = Stop()
    ended: list[Counts] = []

    def work() -> None:
        with Naive(environment("NAIVE_API_KEY"), base_url or environment("NAIVE_BASE_URL")) as naive:
            ended.append(naive.queue.consume(queue, handler, stop=stop, wait=2, **options))

    thread = Thread(target=work)
    thread.start()
    try:
        yield ended
    finally:
        stop()
        thread.join(40)
    assert not thread.is_alive(), "the drain has no end"


class Handled:
    """What handlers have done with messages, by body."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.tries: Counter[str] = Counter()
        self.at_once: set[str] = set()
        self._lock = Lock()

    @contextmanager
    def work_on(self, message: Delivery) -> Iterator[int]:
        """Work on a message in the block, which gets the number of this try; nobody else may meanwhile."""
        with self._lock:
            assert message.body not in self.at_once, "two handlers have the same message"
            self.at_once.add(message.body)
            self.tries[message.body] += 1
            tries = self.tries[message.body]
        try:
            yield tries
            self.done.append(message.body)
        finally:
            self.at_once.discard(message.body)


def send(api: Api, queue: str, *bodies: str, **fields: Any) -> None:
    """Put messages on the queue, in this order."""
    for start in range(0, len(bodies), 100):
        entries = [{"body": body, **fields} for body in bodies[start : start + 100]]
        answer = api("POST", f"/v1/queue/{queue}/messages/batch", {"messages": entries})
        assert all("error" not in result for result in answer.json()["results"])


def is_empty(api: Api, queue: str) -> bool:
    counts = api.counts(queue)
    return bool(counts["depth"] == counts["in_flight"] == counts["delayed"] == 0)


def test_a_handler_slower_than_the_lease_keeps_its_message(api: Api) -> None:
    queue = api.queue(visibility_timeout=5)
    api.send(queue, "slow")
    handled = Handled()

    def handle(message: Delivery) -> None:
        with handled.work_on(message):
            time.sleep(11)
            assert not message.lost

    with consuming(queue, handle) as first, consuming(queue, handle) as second:
        wait_for(lambda: handled.done == ["slow"])
        wait_for(lambda: is_empty(api, queue))
    assert handled.tries == {"slow": 1}
    assert {first[0].received, second[0].received} == {0, 1}
    assert first[0].extended + second[0].extended >= 4


def test_of_five_hundred_messages_each_is_done_once_though_some_handlers_fail(api: Api) -> None:
    queue = api.queue()
    bodies = [f"{'bad' if n % 20 == 0 else 'good'} {n}" for n in range(500)]
    send(api, queue, *bodies)
    handled = Handled()

    def handle(message: Delivery) -> None:
        with handled.work_on(message) as tries:
            if message.body.startswith("bad") and tries == 1:
                raise RuntimeError("not the first time")

    with consuming(queue, handle, concurrency=10) as first, consuming(queue, handle, concurrency=10) as second:
        wait_for(lambda: len(handled.done) >= 500)
        wait_for(lambda: is_empty(api, queue))
    assert sorted(handled.done) == sorted(bodies)
    total = [getattr(first[0], name) + getattr(second[0], name) for name in ("done", "failed", "given_back", "lost")]
    assert total == [500, 25, 25, 0]


def test_ten_seconds_of_503_lose_nothing_and_double_nothing(api: Api) -> None:
    queue = api.queue(visibility_timeout=20)
    bodies = [str(n) for n in range(40)]
    send(api, queue, *bodies)
    handled = Handled()

    def handle(message: Delivery) -> None:
        with handled.work_on(message):
            time.sleep(0.5)

    with proxy() as (url, broken), consuming(queue, handle, base_url=url, concurrency=5) as ended:
        wait_for(lambda: len(handled.done) > 8)
        broken.append("down")
        time.sleep(10)
        broken.clear()
        wait_for(lambda: len(handled.done) >= 40)
        wait_for(lambda: is_empty(api, queue))
    assert sorted(handled.done) == sorted(bodies)
    (counts,) = ended
    assert (counts.received, counts.done, counts.lost) == (40, 40, 0)
    assert 1 <= counts.api_errors <= 20


def test_order_holds_in_each_group_though_handlers_fail(api: Api) -> None:
    queue = api.queue(type="fifo")
    groups = {group: [f"{group}{n}" for n in range(12)] for group in "abcd"}
    for group, bodies in groups.items():
        send(api, queue, *bodies, group_id=group)
    handled = Handled()

    def handle(message: Delivery) -> None:
        with handled.work_on(message) as tries:
            others = {body[0] for body in handled.at_once if body != message.body}
            assert message.body[0] not in others, "two of one group at once"
            if message.body.endswith(("3", "7")) and tries == 1:
                raise Retry(after=0)

    with consuming(queue, handle, concurrency=6) as ended:
        wait_for(lambda: len(handled.done) >= 48)
    for group, bodies in groups.items():
        assert [body for body in handled.done if body[0] == group] == bodies
    assert (ended[0].done, ended[0].failed, ended[0].lost) == (48, 0, 0)


def test_only_the_poison_of_a_group_dies(api: Api) -> None:
    queue = api.queue(type="fifo", dlq=True, max_receive_count=2)
    send(api, queue, "poison", "1", "2", "3", group_id="a")
    done: list[str] = []

    def handle(message: Delivery) -> None:
        if message.body == "poison":
            raise Retry(after=0)
        done.append(message.body)

    with consuming(queue, handle, concurrency=4):
        wait_for(lambda: len(done) == 3)
    assert done == ["1", "2", "3"]
    (letter,) = api("GET", f"/v1/queue/{queue}/dlq/messages").json()["messages"]
    assert letter["body"] == "poison"


class Worker:
    """`naive queue work` as a process, killed at the end of the block if it has not ended."""

    def __init__(self, cli: Cli, *arguments: str) -> None:
        self._arguments = ("queue", "work", *arguments)
        command: list[str | Path] = [BIN / "naive", *self._arguments]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=cli.env, cwd=cli.home, stdout=pipe, stderr=pipe, text=True)

    def ends(self, code: int = 0) -> list[tuple[str, int | None]]:
        """Wait for the end; the answer is how each message ended."""
        out, err = self.process.communicate(timeout=60)
        seen.command(self._arguments, out, err)
        assert self.process.returncode == code, err
        return [(line["outcome"], line["exit_code"]) for line in map(json.loads, out.splitlines())]

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def test_workers_that_end_together_hand_no_message_on_until_it_is_dead(api: Api) -> None:
    queue = api.queue(dlq=True, max_receive_count=2)
    stops, received = [Stop() for _ in range(4)], list[Delivery]()

    def work(stop: Stop) -> None:
        with Naive(environment("NAIVE_API_KEY"), environment("NAIVE_BASE_URL")) as naive:
            naive.queue.consume(queue, received.append, wait=5, stop=stop)

    with ThreadPoolExecutor() as pool:
        workers = [pool.submit(work, stop) for stop in stops]
        time.sleep(2)  # Each waits in a receive by now.
        for stop in stops:
            stop()
        api.send(queue, "late")
        for worker in workers:
            worker.result()
    assert [(message.body, message.receive_count) for message in received] == [("late", 1)]
    counts = api.counts(queue)
    assert (counts["depth"], counts["in_flight"], counts["dlq_depth"]) == (0, 0, 0)


def lines(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []


def test_a_worker_that_is_told_to_stop_finishes_what_it_runs_and_leaves_nothing_leased(api: Api, cli: Cli) -> None:
    queue = api.queue(visibility_timeout=60)
    send(api, queue, *(str(n) for n in range(12)))
    command = "echo $(cat) >> began; sleep 1; echo x >> ended"
    with Worker(cli, queue, "--exec", command, "--concurrency", "4") as worker:
        wait_for(lambda: len(lines(cli.home / "began")) > 4)
        worker.process.send_signal(signal.SIGTERM)
        ended = worker.ends()
    began = lines(cli.home / "began")
    assert ended == [("done", 0)] * len(began)
    assert len(lines(cli.home / "ended")) == len(began) == len(set(began)) < 12
    wait_for(lambda: api.counts(queue)["in_flight"] == 0, seconds=2)
    assert api.counts(queue)["depth"] == 12 - len(began)


def test_what_a_killed_worker_held_is_done_by_another_soon_after_its_lease(api: Api, cli: Cli) -> None:
    queue = api.queue(visibility_timeout=5)
    send(api, queue, *(str(n) for n in range(6)))
    with Worker(cli, queue, "--exec", "echo $(cat) >> held; sleep 4", "--concurrency", "3"):
        wait_for(lambda: len(lines(cli.home / "held")) == 3)
    killed = time.monotonic()
    command = "echo $(cat) >> done"
    with Worker(cli, queue, "--exec", command, "--concurrency", "3", "--wait", "2") as worker:
        wait_for(lambda: len(lines(cli.home / "done")) == 6)
        assert time.monotonic() - killed < 5 + 5
        worker.process.send_signal(signal.SIGTERM)
        assert worker.ends() == [("done", 0)] * 6
    assert set(lines(cli.home / "held")) < set(lines(cli.home / "done"))


def test_exit_codes_decide(api: Api, cli: Cli) -> None:
    queue = api.queue(dlq=True, max_receive_count=1)
    send(api, queue, "0", "3", "0")
    with Worker(cli, queue, "--exec", "exit $(cat)", "--idle-exit", "1") as worker:
        assert Counter(worker.ends()) == {("done", 0): 2, ("failed", 3): 1}
    assert api.receive(queue, wait=1) == []
    assert [letter["body"] for letter in api("GET", f"/v1/queue/{queue}/dlq/messages").json()["messages"]] == ["3"]


def test_a_second_signal_ends_the_command_and_gives_its_message_back_at_once(api: Api, cli: Cli) -> None:
    queue = api.queue(visibility_timeout=60)
    api.send(queue, "long")
    with Worker(cli, queue, "--exec", "echo $$ > pid; sleep 60") as worker:
        wait_for(lambda: bool(lines(cli.home / "pid")))
        worker.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        worker.process.send_signal(signal.SIGTERM)
        assert worker.ends(code=1) == [("given_back", None)]
    with pytest.raises(ProcessLookupError):
        os.killpg(int(lines(cli.home / "pid")[0]), 0)
    (message,) = api.receive(queue, wait=2)
    assert (message["body"], message["receive_count"]) == ("long", 2)


class _Proxy(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.server.broken:
            status, answer = 503, b'{"message":"Service Unavailable"}'
        else:
            passed = {name: self.headers[name] for name in ("authorization", "content-type") if name in self.headers}
            url = environment("NAIVE_BASE_URL") + self.path
            got = self.server.http.request(self.command, url, content=content, headers=passed)
            status, answer = got.status_code, got.content
        self.send_response(status)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, http: httpx.Client) -> None:
        super().__init__(("127.0.0.1", 0), _Proxy)
        self.http = http
        self.broken: list[str] = []


@contextmanager
def proxy() -> Iterator[tuple[str, list[str]]]:
    """The API at another address, where every call is answered 503 while something is in the list."""
    with httpx.Client(timeout=40) as http, _Server(http) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", server.broken
        server.shutdown()
        thread.join()
