"""A queue in memory behind the API's own routes: for a loop that calls as it likes, and not in a known order."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx

from naive import AsyncNaive, Naive
from tests.unit.clients.background import in_thread
from tests.unit.clients.fake_api import BASE_URL, KEY, QUEUE_ID, message_json, queue_json

Answer = tuple[int, object]

OK = {"ok": True}


@dataclass
class FakeQueue:
    """Gives each message that was put on it to one receive, and remembers how it was settled."""

    about: dict[str, object] = field(default_factory=queue_json)
    intercept: Callable[[str, str], Answer | None] = lambda method, path: None
    """Answers instead of the queue where it gives something, by method and path."""
    sent: list[dict[str, Any]] = field(default_factory=list)
    acked: list[str] = field(default_factory=list)
    given_back: list[tuple[str, int]] = field(default_factory=list)
    extended: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    polling: int = 0

    def __post_init__(self) -> None:
        self._ready: list[dict[str, object]] = []
        self._changed = Condition()

    def put(self, *ids: str, **fields: object) -> None:
        """Put messages on it, each with its id for a body and a handle too, if nothing else is said."""
        with self._changed:
            for id in ids:
                self._ready.append(message_json(**{"message_id": id, "body": id, "receipt_handle": id, **fields}))
            self._changed.notify_all()

    def wait_for(self, condition: Callable[[], bool], seconds: float = 10.0) -> None:
        """Wait until this is so."""
        until = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < until, "it never came to that"
            time.sleep(0.005)

    def client(self) -> Naive:
        return Naive(KEY, BASE_URL, transport=httpx.MockTransport(self._respond))

    def async_client(self) -> AsyncNaive:
        async def respond(request: httpx.Request) -> httpx.Response:
            return await in_thread(self._respond, request)

        return AsyncNaive(KEY, BASE_URL, transport=httpx.MockTransport(respond))

    @contextmanager
    def served(self) -> Iterator[str]:
        """The same over a socket; the block gets its address."""
        with _Server(("127.0.0.1", 0), _Handler) as server:
            server.queue = self
            thread = Thread(target=server.serve_forever, args=(0.01,))
            thread.start()
            yield f"http://127.0.0.1:{server.server_address[1]}"
            server.shutdown()
            thread.join()

    def answer(self, method: str, path: str, query: dict[str, str], content: bytes) -> Answer:
        """What the API would answer."""
        self.requests.append(f"{method} {path}")
        if instead := self.intercept(method, path):
            return instead
        if path.endswith("/settle"):
            return 200, self._settle(json.loads(content))
        if path.endswith("/batch"):
            return 200, {"results": [self._send(message) for message in json.loads(content)["messages"]]}
        if path.endswith("/messages") and method == "POST":
            return 201, self._send(json.loads(content))
        if path.endswith("/messages"):
            return 200, {"messages": self._receive(int(query["max"]), float(query["wait"]), int(query["visibility"]))}
        return 200, {"queues": [self.about], "next_cursor": None} if path.endswith("/queue") else self.about

    def _send(self, message: dict[str, Any]) -> object:
        self.sent.append(message)
        id = f"m-{len(self.sent)}"
        self.put(id, **message)
        return {"message_id": id}

    def _receive(self, most: int, wait: float, visibility: int) -> list[object]:
        with self._changed:
            self.polling += 1
            self._changed.wait_for(lambda: bool(self._ready), wait)
            self.polling -= 1
            taken, self._ready = self._ready[:most], self._ready[most:]
        ends = datetime.now(UTC) + timedelta(seconds=visibility)
        return [{**message, "lease_expires_at": ends.isoformat()} for message in taken]

    def _settle(self, asked: Any) -> object:
        ack, retry, extend = (asked.get(verb, []) for verb in ("ack", "retry", "extend"))
        self.acked += ack
        self.given_back += [(entry["receipt_handle"], entry.get("delay_seconds", 0)) for entry in retry]
        self.extended += [entry["receipt_handle"] for entry in extend]
        return {"ack": [OK] * len(ack), "retry": [OK] * len(retry), "extend": [OK] * len(extend)}

    def _respond(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix(httpx.URL(BASE_URL).path)
        status, body = self.answer(request.method, path, dict(request.url.params), request.content)
        return httpx.Response(status, json=body)


class _Server(ThreadingHTTPServer):
    queue: FakeQueue
    daemon_threads = True


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        status, body = self.server.queue.answer(self.command, address.path, dict(parse_qsl(address.query)), content)
        answer = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


def failure(status: int, code: str) -> Answer:
    """An error as the API gives it."""
    return status, {"error": {"code": code, "message": f"This is {code}.", "request_id": "req-1"}}


def messages_path(queue_id: str = QUEUE_ID) -> str:
    return f"/v1/queue/{queue_id}/messages"
