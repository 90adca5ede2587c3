"""Whether the way to a server leads through a proxy: the environment says so, except for this machine itself."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import TypeVar
from urllib.request import getproxies, proxy_bypass

import httpx

from naive.errors import ConfigurationError

Transport = TypeVar("Transport", httpx.HTTPTransport, httpx.AsyncHTTPTransport)

PROXY_HINT = "Check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY."

# A call that has to wait for another one's connection may come too late for a lease.
_NO_LIMIT = httpx.Limits(max_connections=None, max_keepalive_connections=20)


def proxy_for(url: httpx.URL) -> httpx.Proxy | None:
    """The proxy on the way to an address, where there is one."""
    proxies = getproxies()
    named = proxies.get(url.scheme) or proxies.get("all")
    if not named or _is_loopback(url.host) or proxy_bypass(url.host) or proxy_bypass(url.netloc.decode()):
        return None
    try:
        return httpx.Proxy(named if "://" in named else f"http://{named}")
    except (httpx.InvalidURL, ValueError) as fault:
        raise ConfigurationError(f"The proxy is not one: {fault}", hint=PROXY_HINT) from None


def transport_through(proxy: httpx.Proxy | None, kind: Callable[..., Transport]) -> Transport:
    """A transport that takes this way and no other, for as many calls at once as are made."""
    try:
        return kind(proxy=proxy, limits=_NO_LIMIT)
    except ImportError as missing:  # of what SOCKS needs
        raise ConfigurationError(f"The proxy cannot be used: {missing}", hint=PROXY_HINT) from None


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
