"""Which way the SDK takes to a server, where the environment names a proxy."""

from __future__ import annotations

import sys

import httpx
import pytest

from naive import ConfigurationError, Naive, NaiveError, UnexpectedAnswerError, UnreachableError
from naive.proxies import proxy_for
from tests.unit.clients.fake_api import KEY, Served

PAGE: dict[str, object] = {"queues": [], "next_cursor": None}
NOBODY = "http://me:secret@127.0.0.1:9"
ELSEWHERE = "http://naive.test"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def failing(base_url: str) -> NaiveError:
    with pytest.raises(NaiveError) as failed:
        Naive(KEY, base_url, sleep=lambda _: None).queue.list()
    assert "secret" not in f"{failed.value.message} {failed.value.hint}"
    return failed.value


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3:8000", "localhost", "LOCALHOST", "[::1]:8000"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_there_is_no_proxy_on_the_way_to_this_machine(monkeypatch: pytest.MonkeyPatch, scheme: str, host: str) -> None:
    monkeypatch.setenv("ALL_PROXY", NOBODY)
    assert proxy_for(httpx.URL(f"{scheme}://{host}/base")) is None
    assert proxy_for(httpx.URL(f"{scheme}://localhost.naive.test")) is not None


@pytest.mark.parametrize("proxy", [NOBODY, "socks5://127.0.0.1:9", "nonsense://x"])
def test_no_proxy_of_whatever_kind_is_in_the_way_of_this_machine(
    served: Served, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.setenv("ALL_PROXY", proxy)
    served.answer = PAGE
    assert Naive(KEY, served.url).queue.list().queues == []


@pytest.mark.parametrize("proxy", [NOBODY, NOBODY.removeprefix("http://")])
def test_a_proxy_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    error = failing(ELSEWHERE)
    assert isinstance(error, UnreachableError)
    assert "through the proxy http://127.0.0.1:9" in error.message
    assert "HTTP_PROXY" in str(error.hint)


def test_a_proxy_that_opens_no_tunnel_is_named(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", served.url)
    error = failing("https://naive.test")
    assert isinstance(error, UnreachableError)
    assert f"through the proxy {served.url}" in error.message


def test_a_proxy_that_answers_itself_is_named(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", served.url)
    served.answer = "<html>Who are you?</html>"
    error = failing(ELSEWHERE)
    assert isinstance(error, UnexpectedAnswerError)
    assert f"through the proxy {served.url}" in str(error.hint)


def test_a_proxy_that_works_is_used(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", served.url)
    served.answer = PAGE
    assert Naive(KEY, ELSEWHERE).queue.list().queues == []
    assert served.paths == [f"{ELSEWHERE}/v1/queue"]


@pytest.mark.parametrize("excepted", ["naive.test", ".test", "*", "other.test, naive.test:8080"])
def test_an_address_may_be_excepted(monkeypatch: pytest.MonkeyPatch, excepted: str) -> None:
    monkeypatch.setenv("http_proxy", NOBODY)
    monkeypatch.setenv("no_proxy", excepted)
    assert proxy_for(httpx.URL("http://naive.test:8080")) is None


@pytest.mark.parametrize("proxy", ["socks5://me:secret@127.0.0.1:9", "nonsense://me:secret@x", "http://a:b"])
def test_a_proxy_that_cannot_be_used_is_a_matter_of_configuration(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv("ALL_PROXY", proxy)
    error = failing(ELSEWHERE)
    assert isinstance(error, ConfigurationError)
    assert "ALL_PROXY" in str(error.hint)
