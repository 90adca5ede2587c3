"""The way to the server: the one module that sends and waits."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from itertools import count

import httpx

from naive import answers
from naive.calls.call import ROOT, Call, Result
from naive.constants import TIMEOUT_SECONDS, USER_AGENT
from naive.errors import (
    ConfigurationError,
    InvalidInputError,
    NaiveError,
    NoAnswerError,
    NotFoundError,
    UnexpectedAnswerError,
    UnreachableError,
)
from naive.proxies import PROXY_HINT, proxy_for, transport_through
from naive.retries import pause_before_retry

log = logging.getLogger("naive")

_UNREACHABLE_HINT = "Check the base URL and the network. A stack on this machine is started with `make local`."

# With these no byte of the request was sent; any other transport fault leaves it open.
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)


class Connection:
    """Sends calls to one server with one key, and repeats what may be repeated."""

    def __init__(
        self, api_key: str, base_url: str, transport: httpx.BaseTransport | None, sleep: Callable[[float], None]
    ) -> None:
        self.base_url = usable_base_url(base_url)
        headers = {"Authorization": f"Bearer {usable_key(api_key)}", "User-Agent": USER_AGENT}
        proxy = None if transport else proxy_for(httpx.URL(self.base_url))
        self._proxy = f" through the proxy {proxy.url}" if proxy else ""
        self._http = httpx.Client(headers=headers, transport=transport or transport_through(proxy))
        self._sleep = sleep

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
            self._sleep(pause)
        raise AssertionError("unreachable")

    def once(self, call: Call[Result], timeout: float = TIMEOUT_SECONDS) -> Result:
        """Send a call a single time and read its answer, which may take so many seconds beside its own wait."""
        try:
            return call.read(self._send(call, timeout + call.wait))
        except UnexpectedAnswerError as failure:
            if self._proxy:
                failure.hint = f"It came{self._proxy}, which may have given it. {PROXY_HINT}"
            raise

    def close(self) -> None:
        self._http.close()

    def _send(self, call: Call[Result], timeout: float) -> bytes:
        if self._http.is_closed:
            raise ConfigurationError("The client is closed.", hint="Make another, or close this one later.")
        server = self.base_url + self._proxy
        try:
            response = self._http.request(
                call.method,
                self.base_url + call.path,
                params=call.query,
                headers=call.headers(),
                content=call.content(),
                timeout=timeout,
            )
        except _NEVER_SENT as fault:
            hint = PROXY_HINT if self._proxy else _UNREACHABLE_HINT
            raise UnreachableError(f"No connection to {server}: {fault}.", hint=hint) from fault
        except httpx.RequestError as fault:
            raise NoAnswerError(f"No answer from {server}: {str(fault) or type(fault).__name__}.") from fault
        except (httpx.InvalidURL, UnicodeError) as fault:
            raise InvalidInputError(f"Nothing that could be sent to {server}: {fault}.") from fault
        if not response.is_success:
            raise answers.failure(response.status_code, response.headers, response.content)
        return response.content


def usable_base_url(base_url: str) -> str:
    """The base URL without its last slash; its own path, where it has one, stays in front of every call's."""
    try:
        parsed = httpx.URL(base_url.strip())
        parsed.raw_host.decode().encode("idna")  # as it is when the host is looked up
    except (httpx.InvalidURL, UnicodeError) as fault:
        raise ConfigurationError(f"The base URL {base_url!r} is not a URL: {fault}.") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ConfigurationError(f"The base URL {base_url!r} has to start with https:// or http:// and a host.")
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise ConfigurationError("The base URL must not have a user, a query or a fragment.")
    url = str(parsed).rstrip("/")
    if url.endswith(ROOT):
        raise ConfigurationError(
            f"The base URL {base_url!r} ends with {ROOT}, which every call adds by itself.",
            hint=f"The base URL is without {ROOT}: {url.removesuffix(ROOT)}",
        )
    return url


def usable_key(api_key: str) -> str:
    """The key without the line end that files and shells add; an unusable one is not repeated in the error."""
    key = api_key.strip()
    if not key or not all("!" <= character <= "~" for character in key):
        raise ConfigurationError("The API key is empty or has characters that no key has.")
    return key
