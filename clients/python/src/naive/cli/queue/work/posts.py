"""A POST for each message, as a webhook consumer makes it, but without a signature."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from types import TracebackType

import httpx

from naive.answers import retry_after
from naive.cli.queue.work.report import Report
from naive.constants import (
    MAX_ANSWER_BYTES,
    MAX_ATTRIBUTES_HEADER,
    POST_TIMEOUT_SECONDS,
    TIMEOUT_SECONDS,
    USER_AGENT,
)
from naive.consumer.delivery import Delivery, Retry
from naive.errors import ConfigurationError
from naive.models import Queue
from naive.proxies import proxy_for, transport_through


class Posts:
    """Calls a URL for each message."""

    def __init__(self, url: str, queue: Queue, report: Report) -> None:
        try:
            self._url = httpx.URL(url)
        except httpx.InvalidURL as fault:
            raise ConfigurationError(f"{url!r} is not a URL: {fault}.") from None
        if self._url.scheme not in ("http", "https") or not self._url.host:
            raise ConfigurationError(f"{url!r} has to start with https:// or http:// and a host.")
        self._queue = queue
        self._report = report
        self._http = httpx.Client(
            transport=transport_through(proxy_for(self._url), httpx.HTTPTransport),
            timeout=httpx.Timeout(TIMEOUT_SECONDS, read=POST_TIMEOUT_SECONDS),
            headers={"User-Agent": USER_AGENT},
        )

    def __call__(self, delivery: Delivery) -> None:
        """Post this message; any status but 2xx gives it back, after what the answer's Retry-After says."""
        content, fields = delivery.body.encode(), dict(headers(delivery, self._queue))
        with self._http.stream("POST", self._url, content=content, headers=fields) as answer:
            _read_away(answer)
        self._report.ended(delivery, answer.status_code)
        if not answer.is_success:
            raise Retry(retry_after(answer.headers))

    def __enter__(self) -> Posts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()


def headers(delivery: Delivery, queue: Queue) -> Iterator[tuple[str, str]]:
    """What goes with the body."""
    yield "Content-Type", "application/json" if _is_json(delivery.body) else "text/plain; charset=utf-8"
    yield "webhook-id", delivery.message_id
    yield "naive-queue-id", queue.id
    yield "naive-receive-count", str(delivery.receive_count)
    if delivery.group_id is not None:
        yield "naive-group-id", delivery.group_id
    if delivery.attributes:
        encoded = base64.urlsafe_b64encode(json.dumps(delivery.attributes, ensure_ascii=False).encode()).decode()
        if len(encoded) <= MAX_ATTRIBUTES_HEADER:
            yield "naive-attributes", encoded
        else:
            yield "naive-attributes-omitted", "true"


def _read_away(answer: httpx.Response) -> None:
    """Read the content, which nobody needs, to its end: the connection is then good for the next message."""
    read = 0
    for piece in answer.iter_raw():
        read += len(piece)
        if read > MAX_ANSWER_BYTES:
            return


def _is_json(body: str) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
