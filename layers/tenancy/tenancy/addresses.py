"""Where a webhook may be: at public addresses, so that nobody reaches through us what only we can reach.

A URL has one strict form here, and what has several readings (numbers that stand for an address, user names,
backslashes) is refused instead of read. A name is resolved once, everything that it resolves to is judged, and the
caller connects to what was judged: a name that changes its mind in between changes nothing.
"""

import re
import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from queue import Empty, SimpleQueue
from threading import Thread

from tenancy.errors import InvalidInput

type Address = IPv4Address | IPv6Address

LOOK_UP_SECONDS = 5
"""How long a request waits for a name to be resolved."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What a webhook's URL says: where to connect to, and what to ask for there."""

    secure: bool
    host: str
    """A domain name or an address, in lower case and without brackets."""
    port: int
    target: str
    """Path and query."""

    @property
    def authority(self) -> str:
        """The host as the Host header has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.secure] else f"{host}:{self.port}"


def parse(url: str, *, allow_loopback: bool) -> Endpoint:
    """What the URL says, whoever it leads to. Raises InvalidInput for one that has not the form of a webhook's."""
    if not _PLAIN.fullmatch(url):
        raise _refused(
            "form",
            "must be 1 to 2048 ASCII characters without spaces, control characters and backslashes",
            "Percent-encode other characters, and write an international host name in its xn-- form.",
        )
    parts = _PARTS.fullmatch(url)
    scheme = parts["scheme"].lower() if parts else ""
    if parts is None or scheme not in (("https", "http") if allow_loopback else ("https",)):
        raise _refused("scheme", "must begin with https://")
    if "@" in parts["authority"]:
        raise _refused("user", "must hold no user name and no password")
    if parts["fragment"] is not None:
        raise _refused("fragment", "must hold no fragment (#)")
    authority = _AUTHORITY.fullmatch(parts["authority"].lower())
    host = _host(authority["host"], allow_loopback) if authority else None
    if authority is None or host is None:
        raise _refused("host", "must name its host by a full domain name, or by an IP address in its usual form")
    secure = scheme == "https"
    port = int(authority["port"] or _PORTS[secure])
    if not 1 <= port <= 65535:
        raise _refused("port", "must have a port from 1 to 65535")
    target = parts["target"]
    return Endpoint(secure, host, port, target if target.startswith("/") else f"/{target}")


def resolve(endpoint: Endpoint, *, allow_loopback: bool, seconds: float = LOOK_UP_SECONDS) -> list[str]:
    """The addresses of the host, to be connected to and not looked up again.

    Raises InvalidInput when there is none, or one that may not be called: a name is no better than its worst address.
    """
    found = _look_up(endpoint.host, seconds)
    if not found:
        raise _refused("not_found", "must name a host that has an address", "Check the name, or try again later.")
    for address in found:
        if not (endpoint.secure and is_public(address)) and not (allow_loopback and _is_loopback(address)):
            also = " by https, or to loopback ones" if allow_loopback else ""
            raise _refused("not_public", f"must lead to public addresses{also}, and to no others")
    return [str(address) for address in found]


def is_public(address: Address) -> bool:
    """Whether the address is a host's on the public internet, and stands for no other address."""
    return (
        (address.version == 4 or address in _UNICAST)
        and address.is_global
        and not address.is_multicast
        and not any(address in network for network in _SPECIAL)
    )


_PORTS = {True: 443, False: 80}
_PLAIN = re.compile(r"[!-\[\]-~]{1,2048}")
# As RFC 3986 takes any URL apart; what its parts may be is narrower.
_PARTS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<target>[^#]*)(?P<fragment>#.*)?")
_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[0-9a-z._-]+)(?::(?P<port>[0-9]{1,5}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# A name that ends like this is a number to whoever reads addresses generously: 2130706433, 127.1, 0x7f.0.0.0x1.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")

_UNICAST = ip_network("2000::/3")
_LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
# What the ipaddress module calls global, or some of it: the IETF's own networks, relays of 6to4, documentation.
_SPECIAL = tuple(map(ip_network, ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "3fff::/20")))


def _host(text: str, allow_loopback: bool) -> str | None:
    """The host in its one form, or None for one that has none."""
    labels = text.split(".")
    try:
        if text.startswith("["):
            return str(IPv6Address(text[1:-1]))
        if _NUMBER.fullmatch(labels[-1]):
            return str(IPv4Address(text))
    except ValueError:
        return None
    is_name = len(text) <= 253 and len(labels) > 1 and all(map(_LABEL.fullmatch, labels))
    return text if is_name or (allow_loopback and text == "localhost") else None


def _is_loopback(address: Address) -> bool:
    return any(address in network for network in _LOOPBACK)


def _look_up(host: str, seconds: float) -> list[Address]:
    """The addresses of a host in the resolver's order; none when it does not say in time."""
    try:
        return [ip_address(host)]
    except ValueError:
        pass
    answer: SimpleQueue[list[Address]] = SimpleQueue()
    # The resolver has no timeout of its own that could be set, and the owner of a name can have it wait for long.
    Thread(target=lambda: answer.put(_ask(host)), daemon=True).start()
    try:
        return answer.get(timeout=max(0, seconds))
    except Empty:
        return []


def _ask(host: str) -> list[Address]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(ip_address(where[0]) for *_, where in found))
    except (OSError, ValueError):
        return []


def _refused(rule: str, says: str, hint: str | None = None) -> InvalidInput:
    return InvalidInput(f"url {says}", hint=hint, field="url", rule=rule)
