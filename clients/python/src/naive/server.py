"""The server and the way to it: which address, which key, which proxy, and what it means when nothing comes back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from naive import answers
from naive.calls.call import ROOT
from naive.constants import API_KEY_VARIABLE, BASE_URL_VARIABLE, MAX_ANSWER_BYTES, USER_AGENT
from naive.errors import (
    ConfigurationError,
    InvalidInputError,
    NoAnswerError,
    UnexpectedAnswerError,
    UnreachableError,
)
from naive.proxies import PROXY_HINT, proxy_for

_UNREACHABLE_HINT = "Check the base URL and the network. A stack on this machine is started with `make local`."

# With these no byte of the request was sent; any other transport fault leaves it open.
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)


class Server:
    """Where calls go; `is_direct` says that no proxy is looked for on the way."""

    def __init__(self, api_key: str, base_url: str, is_direct: bool) -> None:
        self.url = usable_base_url(base_url)
        self.headers = {
            "Authorization": f"Bearer {usable_key(api_key)}",
            "User-Agent": USER_AGENT,
            "Accept-Encoding": "identity",
        }
        self.proxy = None if is_direct else proxy_for(httpx.URL(self.url))
        self._through = f" through the proxy {self.proxy.url}" if self.proxy else ""

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Ask it something in this block: faults of the way there and back become ours."""
        name = self.url + self._through
        try:
            yield
        except _NEVER_SENT as fault:
            hint = PROXY_HINT if self.proxy else _UNREACHABLE_HINT
            raise UnreachableError(f"No connection to {name}: {fault}.", hint=hint) from fault
        except httpx.RequestError as fault:
            raise NoAnswerError(f"No answer from {name}: {str(fault) or type(fault).__name__}.") from fault
        except (httpx.InvalidURL, UnicodeError) as fault:
            raise InvalidInputError(f"Nothing that could be sent to {name}: {fault}.") from fault

    @contextmanager
    def understood(self) -> Iterator[None]:
        """Read its answer in this block: one that is strange may be that of a proxy."""
        try:
            yield
        except UnexpectedAnswerError as failure:
            if self.proxy:
                failure.hint = f"It came{self._through}, which may have given it. {PROXY_HINT}"
            raise

    def is_too_slow(self, seconds: float) -> NoAnswerError:
        """What it means when an answer has begun and does not end."""
        return NoAnswerError(f"No whole answer from {self.url}{self._through} within {seconds:g} s.")


class Content:
    """The content of an answer, which comes piece by piece and has an end.

    One that is packed is refused, since few bytes of it could unpack to any number; none is asked for.
    """

    def __init__(self, response: httpx.Response) -> None:
        if response.headers.get("content-encoding", "").lower() not in ("", "identity"):
            raise answers.unreadable(response.status_code, "The server's answer is packed, which was not asked for.")
        self._response = response
        self._content = bytearray()  # a list of pieces could be of many times their size

    def add(self, piece: bytes) -> None:
        self._content += piece
        if len(self._content) > MAX_ANSWER_BYTES:
            raise answers.unreadable(
                self._response.status_code, f"The server's answer has more than {MAX_ANSWER_BYTES:,} bytes."
            )

    def checked(self) -> bytes:
        """All of it, of an answer that is a success. Raises what any other stands for."""
        content = bytes(self._content)
        if not self._response.is_success:
            raise answers.failure(self._response.status_code, self._response.headers, content)
        return content


def is_closed() -> ConfigurationError:
    """What a call on a closed client is."""
    return ConfigurationError("The client is closed.", hint="Make another, or close this one later.")


def api_key_or_default(api_key: str | None) -> str:
    """The key that was given, or that of the environment."""
    return _from_environment(API_KEY_VARIABLE, "API key") if api_key is None else api_key


def base_url_or_default(base_url: str | None) -> str:
    """The address that was given, or that of the environment."""
    return _from_environment(BASE_URL_VARIABLE, "base URL") if base_url is None else base_url


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


def _from_environment(variable: str, what: str) -> str:
    value = os.environ.get(variable)
    if not value:
        raise ConfigurationError(f"There is no {what}.", hint=f"Pass one, or set {variable}.")
    return value
