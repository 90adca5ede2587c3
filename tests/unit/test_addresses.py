"""A webhook's URL has one reading, and leads to public addresses."""

import socket
import threading
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tenancy import addresses
from tenancy.addresses import Endpoint
from tenancy.errors import InvalidInput

PUBLIC = "93.184.216.34"
V4 = st.integers(0, 2**32 - 1).map(IPv4Address)
V6 = st.integers(0, 2**128 - 1).map(IPv6Address)


def resolving(*found: str) -> Callable[..., Any]:
    """A resolver that answers this for every name."""

    def getaddrinfo(host: str, port: object, **_: object) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in found]

    return getaddrinfo


def refusal(url: str, *, allow_loopback: bool = False) -> Any:
    """The rule that a URL breaks."""
    with pytest.raises(InvalidInput, match="url must ") as refused:
        addresses.resolve(addresses.parse(url, allow_loopback=allow_loopback), allow_loopback=allow_loopback)
    assert refused.value.details["field"] == "url"
    return refused.value.details["rule"]


@pytest.mark.parametrize(
    ("url", "endpoint", "authority"),
    [
        ("https://a.example/x?y=1", Endpoint(True, "a.example", 443, "/x?y=1"), "a.example"),
        ("https://a.example", Endpoint(True, "a.example", 443, "/"), "a.example"),
        ("https://a.example?y", Endpoint(True, "a.example", 443, "/?y"), "a.example"),
        ("https://a.example:443/", Endpoint(True, "a.example", 443, "/"), "a.example"),
        ("https://a.example:8443/%2e%2E/", Endpoint(True, "a.example", 8443, "/%2e%2E/"), "a.example:8443"),
        ("HTTPS://A.Example/Path", Endpoint(True, "a.example", 443, "/Path"), "a.example"),
        ("https://xn--bcher-kva.example/", Endpoint(True, "xn--bcher-kva.example", 443, "/"), "xn--bcher-kva.example"),
        ("https://my_host.1a.example/@me", Endpoint(True, "my_host.1a.example", 443, "/@me"), "my_host.1a.example"),
        ("https://93.184.216.34/", Endpoint(True, PUBLIC, 443, "/"), PUBLIC),
        ("https://[2606:4700:0:0::1]:1/", Endpoint(True, "2606:4700::1", 1, "/"), "[2606:4700::1]:1"),
    ],
)
def test_a_url_says_where_to_connect_and_what_to_ask_for(url: str, endpoint: Endpoint, authority: str) -> None:
    assert addresses.parse(url, allow_loopback=False) == endpoint
    assert endpoint.authority == authority


@pytest.mark.parametrize(
    ("rule", "url"),
    [
        ("form", ""),
        ("form", "https://a.example/" + "x" * 2048),
        ("form", " https://a.example/"),
        ("form", "https://a.example/\n"),
        ("form", "https://a.exa\tmple/"),
        ("form", "https://a.example/a b"),
        ("form", "https://a.example\\@b.example/"),
        ("form", "https:\\\\a.example/"),
        ("form", "https://b\u00fccher.example/"),
        ("form", "https://127\u30020\u30020\u30021/"),
        ("form", "https://\uff11\uff12\uff17.0.0.1/"),
        ("form", "https://a.example/\u2028"),
        ("scheme", "http://a.example/"),
        ("scheme", "ftp://a.example/"),
        ("scheme", "https:/a.example/"),
        ("scheme", "https:a.example/"),
        ("scheme", "//a.example/"),
        ("scheme", "a.example"),
        ("user", "https://me@a.example/"),
        ("user", "https://me:word@a.example/"),
        ("user", "https://93.184.216.34@127.0.0.1/"),
        ("user", "https://a.example:443@127.0.0.1/"),
        ("fragment", "https://a.example/#x"),
        ("fragment", "https://a.example#@127.0.0.1/"),
        ("host", "https:///a.example"),
        ("host", "https://?a.example"),
        ("host", "https://localhost/"),
        ("host", "https://intranet/"),
        ("host", "https://a.example./"),
        ("host", "https://127.0.0.1./"),
        ("host", "https://.a.example/"),
        ("host", "https://a..example/"),
        ("host", "https://-a.example/"),
        ("host", "https://a%2eexample/"),
        ("host", "https://%31%32%37.0.0.1/"),
        ("host", "https://a.example:/"),
        ("host", "https://a.example:+443/"),
        ("host", "https://a.example:443:80/"),
        ("host", "https://a.example:123456/"),
        ("host", f"https://{'a' * 64}.example/"),
        ("host", f"https://{'a.' * 124}example/"),
        ("host", "https://2130706433/"),
        ("host", "https://0x7f000001/"),
        ("host", "https://0x7f.1/"),
        ("host", "https://127.1/"),
        ("host", "https://127.0.1/"),
        ("host", "https://0177.0.0.1/"),
        ("host", "https://127.0.0.01/"),
        ("host", "https://127.0.0.0x1/"),
        ("host", "https://a.0x/"),
        ("host", "https://a.example.1/"),
        ("host", "https://1.2.3.4.5/"),
        ("host", "https://256.1.1.1/"),
        ("host", "https://[127.0.0.1]/"),
        ("host", "https://[fe80::1%25eth0]/"),
        ("host", "https://[::1/"),
        ("host", "https://::1/"),
        ("host", "https://[v1.a]/"),
        ("port", "https://a.example:0/"),
        ("port", "https://a.example:65536/"),
        ("not_public", "https://127.0.0.1/"),
        ("not_public", "https://0.0.0.0/"),
        ("not_public", "https://10.0.0.1/"),
        ("not_public", "https://100.64.0.1/"),
        ("not_public", "https://169.254.169.254/latest/meta-data/"),
        ("not_public", "https://172.16.0.1/"),
        ("not_public", "https://192.168.0.1/"),
        ("not_public", "https://192.0.0.9/"),
        ("not_public", "https://192.88.99.1/"),
        ("not_public", "https://198.18.0.1/"),
        ("not_public", "https://224.0.0.1/"),
        ("not_public", "https://240.0.0.1/"),
        ("not_public", "https://255.255.255.255/"),
        ("not_public", "https://[::]/"),
        ("not_public", "https://[::1]/"),
        ("not_public", "https://[::127.0.0.1]/"),
        ("not_public", "https://[::ffff:127.0.0.1]/"),
        ("not_public", "https://[::ffff:93.184.216.34]/"),
        ("not_public", "https://[64:ff9b::169.254.169.254]/"),
        ("not_public", "https://[64:ff9b:1::1]/"),
        ("not_public", "https://[2001::1]/"),
        ("not_public", "https://[2001:20::1]/"),
        ("not_public", "https://[2001:db8::1]/"),
        ("not_public", "https://[2002:a9fe:a9fe::]/"),
        ("not_public", "https://[3fff::1]/"),
        ("not_public", "https://[fd00:ec2::254]/"),
        ("not_public", "https://[fe80::1]/"),
        ("not_public", "https://[fec0::1]/"),
        ("not_public", "https://[ff02::1]/"),
    ],
)
def test_another_url_is_refused_by_the_rule_that_it_breaks(
    rule: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolving(PUBLIC))
    assert refusal(url) == rule


@pytest.mark.parametrize(
    "found",
    [
        ["127.0.0.1"],
        [PUBLIC, "10.0.0.1"],
        ["10.0.0.1", PUBLIC],
        [PUBLIC, "::1"],
        [PUBLIC, "fe80::1%2"],
        ["169.254.169.254"],
    ],
)
def test_a_name_is_no_better_than_its_worst_address(found: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolving(*found))
    assert refusal("https://a.example/") == "not_public"


def test_a_name_leads_to_its_addresses_in_the_resolvers_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolving("2606:4700::1", PUBLIC, "2606:4700::1"))
    endpoint = addresses.parse("https://a.example/", allow_loopback=False)
    assert addresses.resolve(endpoint, allow_loopback=False) == ["2606:4700::1", PUBLIC]


@pytest.mark.parametrize("fault", [socket.gaierror(socket.EAI_NONAME, "no such name"), UnicodeError("label empty")])
def test_a_name_that_is_not_found_is_refused(fault: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def getaddrinfo(*_: object, **__: object) -> Any:
        raise fault

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert refusal("https://a.example/") == "not_found"


def test_a_name_that_takes_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: never.wait() and [])
    endpoint = addresses.parse("https://a.example/", allow_loopback=False)
    with pytest.raises(InvalidInput, match="url must name a host that has an address"):
        addresses.resolve(endpoint, allow_loopback=False, seconds=0.05)
    never.set()


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("http://127.0.0.1:9000/", ["127.0.0.1"]),
        ("https://127.8.9.10/", ["127.8.9.10"]),
        ("http://[::1]/", ["::1"]),
        ("http://localhost/", ["127.0.0.1"]),
        ("http://a.example/", ["127.0.0.1"]),
        ("https://93.184.216.34/", [PUBLIC]),
    ],
)
def test_loopback_and_http_are_for_who_allows_them(url: str, found: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolving("127.0.0.1"))
    endpoint = addresses.parse(url, allow_loopback=True)
    assert addresses.resolve(endpoint, allow_loopback=True) == found
    if found != [PUBLIC]:
        assert refusal(url) in ("scheme", "not_public")


@pytest.mark.parametrize(
    "url", ["http://93.184.216.34/", "https://10.0.0.1/", "http://0.0.0.0/", "http://[::ffff:127.0.0.1]/"]
)
def test_allowing_loopback_allows_nothing_else(url: str) -> None:
    assert refusal(url, allow_loopback=True) == "not_public"


@given(V4)
@example(IPv4Address("169.254.169.254"))
def test_an_ipv4_address_is_public_if_it_is_global_and_one_hosts(address: IPv4Address) -> None:
    never = ("192.0.0.0/24", "192.88.99.0/24")
    expected = (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not any(address in ip_network(network) for network in never)
    )
    assert addresses.is_public(address) is expected
    if expected:
        assert not (address.is_private or address.is_loopback or address.is_link_local or address.is_unspecified)


@given(st.one_of(V6, st.integers(2 << 124, (4 << 124) - 1).map(IPv6Address)))
def test_a_public_ipv6_address_is_global_and_stands_for_no_other(address: IPv6Address) -> None:
    if addresses.is_public(address):
        assert address.is_global
        assert not (address.is_private or address.is_multicast or address.is_reserved or address.is_link_local)
        assert (address.ipv4_mapped, address.sixtofour, address.teredo) == (None, None, None)
        assert address in ip_network("2000::/3")


@given(V4, st.integers(0, 2**32 - 1))
def test_no_ipv6_address_that_holds_an_ipv4_one_is_public(address: IPv4Address, other: int) -> None:
    low, teredo = int(address), 0x20010000 << 96
    for number in (
        low,  # compatible
        0xFFFF << 32 | low,  # mapped
        0xFFFF << 48 | low,  # translated
        0x64FF9B << 96 | low,  # NAT64
        0x64FF9B0001 << 80 | low,  # NAT64 of a network's own
        0x2002 << 112 | low << 80 | other,  # 6to4
        teredo | low << 64 | other,
        teredo | other << 64 | low ^ 0xFFFFFFFF,
    ):
        assert not addresses.is_public(IPv6Address(number)), IPv6Address(number)


def _spellings(address: IPv4Address) -> list[str]:
    """Ways to write an address that some reader takes for it."""
    a, b, c, d = address.packed
    return [
        str(int(address)),
        hex(int(address)),
        oct(int(address)).replace("0o", "0"),
        f"{a}.{b}.{c << 8 | d}",
        f"{a}.{b << 16 | c << 8 | d}",
        f"{a:#x}.{b:#x}.{c:#x}.{d:#x}",
        f"{a:#o}.{b}.{c}.{d}".replace("0o", "0"),
        f"{a}.{b}.{c}.{d:#x}",
        f"{a}.{b}.{c}.0{d:o}",
        f"{a:04d}.{b}.{c}.{d}",
        f"{address}.",
    ]


@given(V4)
def test_an_address_has_one_spelling(address: IPv4Address) -> None:
    assert addresses.parse(f"https://{address}/", allow_loopback=False).host == str(address)
    for text in _spellings(address):
        with pytest.raises(InvalidInput):
            addresses.parse(f"https://{text}/", allow_loopback=True)


@given(V6)
def test_an_ipv6_address_is_read_as_what_it_is(address: IPv6Address) -> None:
    for text in (str(address), address.exploded, str(address).upper()):
        assert addresses.parse(f"https://[{text}]/", allow_loopback=False).host == str(address)


URLS = st.text("htps:/[]@.\\#?%0x127af-_ \t\n\u3002\u212a\u017f", max_size=40).map(lambda text: f"https://{text}")


@given(st.one_of(st.text(), URLS))
def test_whatever_is_given_is_read_or_refused(url: str) -> None:
    try:
        endpoint = addresses.parse(url, allow_loopback=False)
    except InvalidInput:
        return
    assert url.lower().startswith("https://")
    assert endpoint.host.isascii() and endpoint.host == endpoint.host.lower()
    assert endpoint.target.startswith("/") and endpoint.target.isascii() and endpoint.target.isprintable()
    assert endpoint.secure and 1 <= endpoint.port <= 65535
    try:
        assert socket.inet_aton(endpoint.host) == IPv4Address(endpoint.host).packed
    except OSError:
        assert "." in endpoint.host or ":" in endpoint.host
