"""A server that answers what it is told to, behind the client's own HTTP library."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

import httpx
from typer.testing import Result

from naive import Naive
from naive.constants import MAX_ANSWER_BYTES, MEBIBYTE

KEY = "nv_sk_live_" + "k" * 43
BASE_URL = "http://127.0.0.1:4566/_aws/execute-api/abc123"
QUEUE_ID = "11111111-1111-4111-8111-111111111111"
USER_ID = "22222222-2222-4222-8222-222222222222"
KEY_ID = "33333333-3333-4333-8333-333333333333"


class Flood(httpx.SyncByteStream):
    """Content of many times what an answer may have; it counts what was read of it."""

    def __init__(self) -> None:
        self.read = 0
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        while self.read < 10 * MAX_ANSWER_BYTES:
            self.read += MEBIBYTE
            yield bytes(MEBIBYTE)

    def close(self) -> None:
        self.is_closed = True


@dataclass
class FakeApi:
    """Gives its answers in turn, and remembers every request and every wait."""

    answers: list[httpx.Response | Exception] = field(default_factory=list)
    requests: list[httpx.Request] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)

    def answers_with(self, body: object = None, *, status: int = 200, headers: dict[str, str] | None = None) -> None:
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        self.answers.append(httpx.Response(status, content=content, headers=headers))

    def refuses_with(self, code: str, status: int, *, headers: dict[str, str] | None = None, **more: object) -> None:
        error = {"code": code, "message": f"This is {code}.", "request_id": "req-1", **more}
        self.answers_with({"error": error}, status=status, headers=headers)

    def breaks_with(self, fault: Exception) -> None:
        self.answers.append(fault)

    def client(self, api_key: str = KEY, base_url: str = BASE_URL) -> Naive:
        return Naive(api_key, base_url, transport=httpx.MockTransport(self._handle), sleep=self.slept.append)

    def bodies(self) -> list[Any]:
        """The JSON of every request that had a body."""
        return [json.loads(request.content) for request in self.requests if request.content]

    def _handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        assert self.answers, f"nobody expected {request.method} {request.url}"
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Served(ThreadingHTTPServer):
    """The same over a socket: every request gets the answer of the moment, JSON or, where it is text, that text."""

    answer: object = None
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.paths: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Served

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        self.rfile.read(int(self.headers.get("content-length", 0)))
        answer = self.server.answer
        content = answer.encode() if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_PUT = do_GET

    def log_message(self, *_: object) -> None:
        pass


class Run(Protocol):
    """Runs the command line and gives its result; a failure has to be told, not raised."""

    def __call__(self, *arguments: str, input: bytes | str | None = None) -> Result: ...


def queue_json(**fields: object) -> dict[str, object]:
    """A queue as the API shows it."""
    return {
        "id": QUEUE_ID,
        "name": "jobs",
        "type": "standard",
        "user_id": USER_ID,
        "dlq": False,
        "max_receive_count": None,
        "visibility_timeout": 30,
        "retention_seconds": 345600,
        "delay_seconds": 0,
        "content_based_dedup": None,
        "consumer": None,
        "created_at": "2026-01-02T03:04:05Z",
        **fields,
    }


def fifo_json(**fields: object) -> dict[str, object]:
    """A fifo queue as the API shows it."""
    return queue_json(**{"name": "orders", "type": "fifo", "content_based_dedup": True, **fields})


def message_json(**fields: object) -> dict[str, object]:
    """A received message as the API shows it."""
    return {
        "message_id": "m-1",
        "body": "hello",
        "receipt_handle": "h-1",
        "receive_count": 1,
        "sent_at": "2026-01-02T03:04:05Z",
        "lease_expires_at": "2026-01-02T03:04:35Z",
        **fields,
    }


def user_json(**fields: object) -> dict[str, object]:
    """A user as the API shows it."""
    return {
        "id": USER_ID,
        "external_id": None,
        "email": None,
        "label": None,
        "status": "active",
        "is_default": False,
        "created_at": "2026-01-02T03:04:05Z",
        **fields,
    }


def key_json(**fields: object) -> dict[str, object]:
    """A key as the API lists it."""
    return {
        "key_id": KEY_ID,
        "name": "ci",
        "last_4": KEY[-4:],
        "active_tenant_user_id": None,
        "created_at": "2026-01-02T03:04:05Z",
        "last_used_at": None,
        "revoked": False,
        **fields,
    }


def new_key_json(**fields: object) -> dict[str, object]:
    """A key as the API shows it once."""
    key = key_json(**{"api_key": KEY, **fields})
    return {name: value for name, value in key.items() if name not in ("last_used_at", "revoked")}
