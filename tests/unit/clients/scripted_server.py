"""A server that does what a case says, over sockets: it answers, hangs up in the middle, or says nothing."""

from __future__ import annotations

import base64
import json
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import httpx

# In front of the path of every call.
BASE_PATH = "/base/path"

# For so long a client waits for a server that is silent, instead of for the seconds that it would.
_PATIENCE = 0.05

# Closed at once, without the politeness of TCP: what was not read yet is lost.
_ABRUPTLY = struct.pack("ii", 1, 0)

Act = dict[str, Any]


@dataclass(frozen=True)
class Seen:
    """A request as it was sent, and for how long an answer to it would have been waited for."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    content: bytes
    timeout: float

    def shown(self) -> dict[str, Any]:
        """The same as a case speaks of it."""
        body = json.loads(self.content) if self.content else None
        return {**vars(self), "raw": self.content.decode(), "body": body}

    def is_again(self, other: Seen) -> bool:
        """Whether this is that request once more."""
        return self._identity() == other._identity()

    def _identity(self) -> tuple[object, ...]:
        return self.method, self.path, self.query, self.content, self.headers.get("idempotency-key")


class Script:
    """What happens to each request in turn, and the requests that there were."""

    def __init__(self, acts: Sequence[Act]) -> None:
        self.acts = list(acts)
        self.seen: list[Seen] = []
        self.act: Act = {}
        self.is_over = Event()

    def begin(self, request: httpx.Request, content: bytes) -> None:
        """Take note of a request, and have it meet what it has to meet."""
        assert self.acts, f"nobody expected {request.method} {request.url}"
        self.act = self.acts.pop(0)
        timeouts = request.extensions["timeout"]
        path = request.url.raw_path.decode().partition("?")[0].removeprefix(BASE_PATH)
        query, headers = dict(request.url.params), dict(request.headers)
        self.seen.append(Seen(request.method, path, query, headers, content, min(timeouts.values())))
        if self.act.get("fault") == "refused":
            request.url = request.url.copy_with(port=_unused_port())
        if self.act.get("fault") == "silent":
            request.extensions["timeout"] = {**timeouts, "read": _PATIENCE}


class Transport(httpx.HTTPTransport):
    """The blocking client's way to a scripted server."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self._script = script

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._script.begin(request, request.read())
        return super().handle_request(request)


class AsyncTransport(httpx.AsyncHTTPTransport):
    """The asynchronous client's."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self._script = script

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._script.begin(request, await request.aread())
        return await super().handle_async_request(request)


@contextmanager
def serving(script: Script) -> Iterator[str]:
    """Play the script while the block runs, which gets the address."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.script = script
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}{BASE_PATH}"
        script.is_over.set()
        server.shutdown()
        thread.join()


class _Server(ThreadingHTTPServer):
    script: Script
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        act = self.server.script.act
        match act.get("fault"):
            case "silent":
                self.server.script.is_over.wait()
                self.close_connection = True
            case "reset":
                self._hang_up()
            case "cut":
                content = _content(act)
                self._answer(act, content, content[: len(content) // 2])
                self._hang_up()
            case None:
                content = _content(act)
                self._answer(act, content, content)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, act: Act, content: bytes, sent: bytes) -> None:
        self.send_response(act["status"])
        for name, value in act.get("headers", {}).items():
            self.send_header(name, value)
        if act["status"] != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(sent)

    def _hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def _content(act: Act) -> bytes:
    if "json" in act:
        return json.dumps(act["json"], ensure_ascii=False).encode()
    return act["text"].encode() if "text" in act else base64.b64decode(act.get("base64", ""))


def _unused_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port
