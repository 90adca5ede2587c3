# Generated from naive/aio/connection.py by `make blocking`: a change belongs there.
"""The way to the server: the one module that sends and waits."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator
from itertools import count

import httpx

from naive.calls.call import Call, Result
from naive.constants import TIMEOUT_SECONDS
from naive.errors import NaiveError, NotFoundError
from naive.models import Entry, Page
from naive.proxies import transport_through
from naive.retries import pause_before_retry
from naive.server import Content, Server, is_closed

log = logging.getLogger("naive")


class Connection:
    """Sends calls to one server with one key, and repeats what may be repeated."""

    def __init__(
        self,
        api_key: str,
        base_url: str,
        transport: httpx.BaseTransport | None,
        sleep: Callable[[float], None],
    ) -> None:
        self.sleep = sleep
        self._server = Server(api_key, base_url, is_direct=transport is not None)
        self._http = httpx.Client(
            headers=self._server.headers,
            transport=transport or transport_through(self._server.proxy, httpx.HTTPTransport),
        )

    def run(self, call: Call[Result]) -> Result:
        """Send a call, again where that is safe, and read its answer."""
        for attempt in count(1):
            try:
                return self.once(call)
            except NaiveError as failure:
                if call.done_when_absent and attempt > 1 and isinstance(failure, NotFoundError):
                    return call.read(b"")
                pause = pause_before_retry(call.repeatable, failure, attempt, random.random())
                if pause is None:
                    raise
                log.debug("%s %s failed (%s), next try in %.2f s", call.method, call.path, failure.code, pause)
            self.sleep(pause)
        raise AssertionError("unreachable")

    def once(self, call: Call[Result], timeout: float = TIMEOUT_SECONDS) -> Result:
        """Send a call a single time and read its answer, which may take so many seconds beside its own wait."""
        with self._server.understood():
            return call.read(self._send(call, timeout + call.wait))

    def entries(self, page: Callable[[str | None], Call[Page[Entry]]]) -> Iterator[Entry]:
        """The entries of a list, which is asked for page by page as they are taken."""
        cursor = None
        while True:
            answer = self.run(page(cursor))
            for entry in answer:
                yield entry
            cursor = answer.next_cursor
            if cursor is None:
                return

    def close(self) -> None:
        self._http.close()

    def _send(self, call: Call[Result], timeout: float) -> bytes:
        if self._http.is_closed:
            raise is_closed()
        with self._server.asked():
            return self._exchange(call, timeout)

    def _exchange(self, call: Call[Result], timeout: float) -> bytes:
        """The content of the answer. The timeout is that of each step: one that comes bit by bit might never end."""
        until = time.monotonic() + timeout
        with self._http.stream(
            call.method,
            self._server.url + call.path,
            params=call.query,
            headers=call.headers(),
            content=call.content(),
            timeout=timeout,
        ) as response:
            content = Content(response)
            for piece in response.iter_bytes():
                content.add(piece)
                if time.monotonic() > until:
                    raise self._server.is_too_slow(timeout)
        return content.checked()
