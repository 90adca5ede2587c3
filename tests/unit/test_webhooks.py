"""A delivery is a signed POST to an address that was judged, and over in time whatever the other side does."""

import base64
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

import naive.webhooks
from naive import InvalidWebhookError, WebhookMessage
from tenancy import webhooks
from tenancy.webhooks import Outcome, Record, Target
from tests.receiver import Authority, Behaviour, Call, Receiver, answering, receiving
from tests.template import ROOT

SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes....").decode()
QUEUE = "3f6f3b9e-8a53-4a39-9d0c-3f1c6f6f7a10"
HOST = "hooks.example.test"
PUBLIC = "93.184.216.34"
(SAMPLE,) = json.loads((ROOT / "events/webhook_worker.json").read_text())["Records"]
LARGE = "x" * (16 << 20)
"""More than the two sockets hold between them."""


class Network:
    """What names resolve to, and which addresses were connected to."""

    def __init__(self) -> None:
        self.names: dict[str, list[list[str]]] = {}
        """What a name resolves to, the first time, the second time, …"""
        self.asked: list[str] = []
        self.dialed: list[str] = []


@pytest.fixture(autouse=True)
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    """No name is really looked up, and nothing but this machine is ever connected to."""
    made = Network()
    look_up, connect = socket.getaddrinfo, socket.socket.connect

    def getaddrinfo(host: str, port: Any, *rest: Any, **more: Any) -> Any:
        if host not in made.names:
            more["flags"] = socket.AI_NUMERICHOST
            return look_up(host, port, *rest, **more)
        made.asked.append(host)
        found = made.names[host].pop(0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    def checked(self: socket.socket, address: Any) -> None:
        made.dialed.append(address[0])
        if not address[0].startswith("127."):
            raise ConnectionRefusedError("no test may leave this machine")
        connect(self, address)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(socket.socket, "connect", checked)
    return made


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


def record(body: str = "work", **changes: Any) -> Record:
    """A message as Lambda gets it."""
    return {**SAMPLE, "body": body, "messageAttributes": {}, **changes}


def deliver(url: str, message: Record | None = None, *, seconds: float = 8, allow_loopback: bool = True) -> Outcome:
    target = Target(url, SECRET, QUEUE, "https://sqs.example/queue", fifo=False)
    deadline = time.monotonic() + seconds
    return webhooks.deliver(target, message or record(), allow_loopback=allow_loopback, deadline=deadline)


def test_a_delivery_is_a_post_with_these_headers_and_no_others(receiver: Receiver) -> None:
    assert deliver(receiver.url + "/a%20b?c=d&e", record('{"a": 1}')) == Outcome("status 200", delivered=True)
    (received,) = receiver.requests
    assert received.line == "POST /hook/a%20b?c=d&e HTTP/1.1"
    assert set(received.headers) == {
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "naive-queue-id",
        "naive-receive-count",
        "user-agent",
        "webhook-id",
        "webhook-signature",
        "webhook-timestamp",
    }
    assert received.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert received.headers["webhook-id"] == SAMPLE["messageId"]
    assert received.headers["naive-queue-id"] == QUEUE
    assert received.headers["naive-receive-count"] == "1"
    assert received.headers["user-agent"].startswith("naive-webhooks/")
    assert received.headers["connection"] == "close"


@pytest.mark.parametrize("body", ['{"a": 1}', "plain", " ", "\u00e9\u4e16\U0001f600\n", "\ufeff{}", "x" * (1 << 20)])
def test_the_body_arrives_byte_for_byte_and_signed(receiver: Receiver, body: str) -> None:
    deliver(receiver.url, record(body))
    (received,) = receiver.requests
    assert received.body == body.encode()
    Webhook(SECRET).verify(received.body, received.headers, json_parse=False)


@pytest.mark.parametrize("body", ["plain", "", "\u00e9\u4e16\U0001f600\n", "x" * (1 << 20)])
def test_the_python_client_takes_a_delivery_for_what_it_is(receiver: Receiver, body: str) -> None:
    attributes = {"colour": {"stringValue": "r\u00f6t", "dataType": "String"}}
    system = {**SAMPLE["attributes"], "ApproximateReceiveCount": "3", "MessageGroupId": "g-1"}
    deliver(receiver.url, record(body, messageAttributes=attributes, attributes=system))
    (received,) = receiver.requests
    assert naive.webhooks.verify(SECRET, received.headers, received.body) == WebhookMessage(
        message_id=SAMPLE["messageId"],
        body=body,
        queue_id=QUEUE,
        receive_count=3,
        group_id="g-1",
        attributes={"colour": "r\u00f6t"},
    )
    for headers, content in (
        (received.headers, received.body + b"!"),
        (received.headers | {"webhook-id": "m-2"}, received.body),
        (received.headers | {"webhook-timestamp": str(int(received.headers["webhook-timestamp"]) + 1)}, received.body),
    ):
        with pytest.raises(InvalidWebhookError, match="signature"):
            naive.webhooks.verify(SECRET, headers, content)


@pytest.mark.parametrize(
    "body", ["{}", "[]", '"text"', "null", "-0.1e5", " [1] ", "1" * 5000, '"\\ud800"', "[" * 50 + "]" * 50]
)
def test_json_is_sent_as_json(receiver: Receiver, body: str) -> None:
    deliver(receiver.url, record(body))
    assert receiver.requests[0].headers["content-type"] == "application/json"


@pytest.mark.parametrize("body", ["text", "{", "", "NaN", "[Infinity]", "{'a': 1}", "\ufeff{}", "01", "[" * 500_000])
def test_anything_else_is_sent_as_text(receiver: Receiver, body: str) -> None:
    deliver(receiver.url, record(body))
    assert receiver.requests[0].headers["content-type"] == "text/plain; charset=utf-8"


def test_group_receive_count_and_attributes_are_told(receiver: Receiver) -> None:
    attributes = {
        "colour": {"stringValue": "r\u00f6t", "dataType": "String"},
        "size": {"stringValue": "12", "dataType": "Number"},
        "raw": {"binaryValue": "AAE=", "dataType": "Binary"},
    }
    system = {**SAMPLE["attributes"], "ApproximateReceiveCount": "7", "MessageGroupId": "customer-1!~"}
    deliver(receiver.url, record(messageAttributes=attributes, attributes=system))
    (received,) = receiver.requests
    assert received.headers["naive-receive-count"] == "7"
    assert received.headers["naive-group-id"] == "customer-1!~"
    told = json.loads(base64.urlsafe_b64decode(received.headers["naive-attributes"]))
    assert told == {"colour": "r\u00f6t", "size": "12", "raw": "AAE="}
    assert "naive-attributes-omitted" not in received.headers


@pytest.mark.parametrize(("length", "fits"), [(3064, True), (3065, False)])
def test_attributes_above_4_kib_are_left_out_and_said_to_be(receiver: Receiver, length: int, fits: bool) -> None:
    deliver(receiver.url, record(messageAttributes={"a": {"stringValue": "x" * (length - 1), "dataType": "String"}}))
    headers = receiver.requests[0].headers
    if fits:
        assert len(headers["naive-attributes"]) == 4096
    assert ("naive-attributes" in headers, headers.get("naive-attributes-omitted")) == (fits, None if fits else "true")


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_acknowledges(receiver: Receiver, status: int) -> None:
    receiver.behave = answering(status)
    assert deliver(receiver.url) == Outcome(f"status {status}", delivered=True)


@pytest.mark.parametrize("status", [300, 304, 400, 401, 404, 410, 413, 429, 500, 502, 503, 999])
def test_any_other_status_is_a_failure(receiver: Receiver, status: int) -> None:
    receiver.behave = answering(status)
    assert deliver(receiver.url) == Outcome(f"status {status}")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure_and_not_followed(receiver: Receiver, status: int) -> None:
    receiver.behave = answering(status, Location=f"{receiver.url}/elsewhere")
    assert deliver(receiver.url) == Outcome(f"status {status}")
    assert receiver.calls == 1


def _silent(call: Call) -> None:
    call.wait()


def _mute(call: Call) -> None:
    call.read()
    call.wait()


def _dribbling(start: bytes, drop: bytes) -> Behaviour:
    """Read the request, say this much at once, and then go on for ever, little by little."""

    def behave(call: Call) -> None:
        call.read()
        call.line.sendall(start)
        while True:
            call.line.sendall(drop)
            time.sleep(0.02)

    return behave


@pytest.mark.parametrize(
    "behave",
    [
        pytest.param(_mute, id="no-answer"),
        pytest.param(_dribbling(b"HTTP/1.1 200 ", b"O"), id="status-line"),
        pytest.param(_dribbling(b"HTTP/1.1 200 OK\r\nA: ", b"b"), id="header"),
        pytest.param(_dribbling(b"HTTP/1.1 200 OK\r\n", b"A"), id="header-name"),
        pytest.param(_dribbling(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), id="interim-answers"),
    ],
)
@pytest.mark.parametrize("over", ["http", "https"])
def test_who_never_ends_an_answer_is_hung_up_on(
    behave: Behaviour, over: str, authority: Authority, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "_tls", authority.trusted())
    network.names[HOST] = [["127.0.0.1"]]
    with receiving(behave, authority.server(HOST) if over == "https" else None) as receiver:
        began = time.monotonic()
        assert deliver(f"{over}://{HOST}:{receiver.port}/", seconds=0.6) == Outcome("timed_out")
        assert len(receiver.requests) == 1
    assert time.monotonic() - began < 4


def test_who_never_ends_a_handshake_is_hung_up_on() -> None:
    with receiving(_silent) as receiver:
        began = time.monotonic()
        assert deliver(f"https://127.0.0.1:{receiver.port}/", seconds=0.6) == Outcome("timed_out")
        assert receiver.calls == 1
    assert time.monotonic() - began < 4


@pytest.mark.parametrize("over", ["http", "https"])
def test_who_never_reads_the_request_is_hung_up_on(
    over: str, authority: Authority, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "_tls", authority.trusted())
    network.names[HOST] = [["127.0.0.1"]]
    over_here = threading.Event()

    def behave(call: Call) -> None:
        over_here.wait()

    with receiving(behave, authority.server(HOST) if over == "https" else None) as receiver:
        try:
            assert deliver(f"{over}://{HOST}:{receiver.port}/", record(LARGE), seconds=0.6) == Outcome("timed_out")
        finally:
            over_here.set()


def test_who_takes_no_connection_is_not_waited_for() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for line in waiting:  # They fill the line of those who wait to be let in.
            line.setblocking(False)
            line.connect_ex(full.getsockname())
        try:
            assert deliver(f"http://127.0.0.1:{full.getsockname()[1]}/", seconds=0.6) == Outcome("timed_out")
        finally:
            for line in waiting:
                line.close()


def test_who_owns_a_name_cannot_keep_it_from_being_found(monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: never.wait() and [])
    assert deliver("https://a.example/", seconds=0.2) == Outcome("timed_out")
    never.set()


def test_ten_seconds_are_the_most_that_a_delivery_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    assert webhooks.SECONDS == 10
    monkeypatch.setattr(webhooks, "SECONDS", 0.3)
    with receiving(_dribbling(b"HTTP/1.1 200 OK\r\nA: ", b"b")) as receiver:
        assert deliver(receiver.url, seconds=3600) == Outcome("timed_out")


def test_a_delivery_whose_time_is_over_is_not_begun(receiver: Receiver) -> None:
    assert deliver(receiver.url, seconds=-1) == Outcome("timed_out")
    assert receiver.calls == 0


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize(
    "start",
    ["Content-Length: 10000\r\n\r\n", "\r\n", "Transfer-Encoding: chunked\r\n\r\n", "Content-Length: 5\r\n\r\n"],
)
@pytest.mark.parametrize("drop", [b"x", b"x" * 100_000])
def test_a_body_that_never_ends_changes_nothing(receiver: Receiver, status: int, start: str, drop: bytes) -> None:
    receiver.behave = _dribbling(f"HTTP/1.1 {status} -\r\n{start}".encode(), drop)
    began = time.monotonic()
    assert deliver(receiver.url) == Outcome(f"status {status}", delivered=status == 200)
    assert time.monotonic() - began < 4


def test_a_body_that_never_comes_is_not_waited_for_long(receiver: Receiver) -> None:
    def behave(call: Call) -> None:
        call.read()
        call.line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
        call.wait()

    receiver.behave = behave
    began = time.monotonic()
    assert deliver(receiver.url) == Outcome("status 200", delivered=True)
    assert time.monotonic() - began < 4


def test_where_there_is_no_body_none_is_waited_for(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "_GLANCE_SECONDS", 6)

    def behave(call: Call) -> None:
        call.read()
        call.answer(204)
        call.wait()

    receiver.behave = behave
    began = time.monotonic()
    assert deliver(receiver.url) == Outcome("status 204", delivered=True)
    assert time.monotonic() - began < 4


def test_an_answer_counts_that_came_before_the_body_was_sent_whole(receiver: Receiver) -> None:
    def behave(call: Call) -> None:
        call.answer(413, Retry_After="7")
        call.line.shutdown(socket.SHUT_WR)
        call.line.recv(1)

    receiver.behave = behave
    assert deliver(receiver.url, record(LARGE)) == Outcome("status 413", retry_after=7)


def _says(data: bytes) -> Behaviour:
    def behave(call: Call) -> None:
        call.read()
        call.line.sendall(data)

    return behave


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "connection_failed"),
        (b"HTTP/1.1 20", "no_http"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "no_http"),
        (b"HTTP/1.1 two\r\n\r\n", "no_http"),
        (b"\x00" * 70_000, "no_http"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n", "no_http"),
        (b"HTTP/1.1 200 OK\r\nA: " + b"b" * 70_000 + b"\r\n\r\n", "no_http"),
    ],
)
def test_what_is_no_answer_is_a_failure(receiver: Receiver, data: bytes, what: str) -> None:
    receiver.behave = _says(data)
    assert deliver(receiver.url) == Outcome(what)


def test_an_answer_that_breaks_off_after_its_status_has_said_what_counts(receiver: Receiver) -> None:
    receiver.behave = _says(b"HTTP/1.1 200 OK\r\nA: ")
    assert deliver(receiver.url) == Outcome("status 200", delivered=True)


def test_nobody_there_is_a_failure() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert deliver(f"http://127.0.0.1:{unused.getsockname()[1]}/") == Outcome("connection_failed")


def test_a_message_that_makes_no_request_is_a_failure_and_no_more(receiver: Receiver) -> None:
    system = {**SAMPLE["attributes"], "MessageGroupId": "a\r\nEvil: b"}
    assert deliver(receiver.url, record(attributes=system)) == Outcome("internal_error")
    assert receiver.requests == []


@pytest.fixture
def trusting(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """An authority that deliveries trust."""
    monkeypatch.setattr(webhooks, "_tls", authority.trusted())
    return authority


def test_over_tls_the_host_is_named_and_proved(trusting: Authority, network: Network) -> None:
    tls, named = trusting.server(HOST), []
    tls.sni_callback = lambda _, name, __: named.append(name)
    network.names[HOST] = [["127.0.0.1"]]
    with receiving(tls=tls) as receiver:
        assert deliver(f"https://{HOST.upper()}:{receiver.port}/x").delivered
        (received,) = receiver.requests
    assert (named, received.headers["host"]) == ([HOST], f"{HOST}:{receiver.port}")
    assert (network.asked, network.dialed) == ([HOST], ["127.0.0.1"])


def test_an_address_may_have_a_certificate_too(trusting: Authority) -> None:
    with receiving(tls=trusting.server("127.0.0.1")) as receiver:
        assert deliver(f"https://127.0.0.1:{receiver.port}/").delivered


def test_a_certificate_of_another_host_is_refused(trusting: Authority, network: Network) -> None:
    network.names[HOST] = [["127.0.0.1"]]
    # Of the very address that is connected to, and of a name: what counts is the name in the URL.
    for other in "127.0.0.1", "other.example.test":
        network.names[HOST] = [["127.0.0.1"]]
        with receiving(tls=trusting.server(other)) as receiver:
            assert deliver(f"https://{HOST}:{receiver.port}/") == Outcome("certificate_refused")
            assert receiver.requests == []


def test_a_certificate_of_an_unknown_authority_is_refused(
    trusting: Authority, network: Network, tmp_path: Path
) -> None:
    network.names[HOST] = [["127.0.0.1"]]
    with receiving(tls=Authority(tmp_path).server(HOST)) as receiver:
        assert deliver(f"https://{HOST}:{receiver.port}/") == Outcome("certificate_refused")
        assert receiver.requests == []


def test_deliveries_trust_what_this_machine_trusts_and_nothing_older() -> None:
    assert (webhooks._tls.verify_mode, webhooks._tls.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert webhooks._tls.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_a_host_without_tls_is_a_failure(receiver: Receiver) -> None:
    receiver.behave = lambda call: call.answer(400)
    assert deliver(f"https://127.0.0.1:{receiver.port}/") == Outcome("tls_failed")


def test_what_was_judged_is_connected_to_whatever_the_name_says_then(receiver: Receiver, network: Network) -> None:
    network.names[HOST] = [[PUBLIC], ["127.0.0.1"], ["127.0.0.1"]]
    assert deliver(f"https://{HOST}:{receiver.port}/", allow_loopback=False) == Outcome("connection_failed")
    assert (network.asked, network.dialed, receiver.calls) == ([HOST], [PUBLIC], 0)


@pytest.mark.parametrize("found", [["127.0.0.1"], [PUBLIC, "127.0.0.1"], ["169.254.169.254"], ["10.0.0.1", PUBLIC]])
def test_a_name_that_leads_inside_is_not_connected_to(found: list[str], receiver: Receiver, network: Network) -> None:
    network.names[HOST] = [found]
    assert deliver(f"https://{HOST}:{receiver.port}/", allow_loopback=False) == Outcome("not_public")
    assert (network.dialed, receiver.calls) == ([], 0)


def test_where_loopback_is_not_allowed_neither_it_nor_http_is_called(receiver: Receiver) -> None:
    assert deliver(receiver.url, allow_loopback=False) == Outcome("scheme")
    assert deliver(receiver.url.replace("http:", "https:"), allow_loopback=False) == Outcome("not_public")
    assert receiver.calls == 0


def test_a_name_with_no_address_is_a_failure(network: Network) -> None:
    network.names[HOST] = [[]]
    assert deliver(f"https://{HOST}/") == Outcome("not_found")


def test_the_next_address_is_tried_when_one_takes_no_connection(receiver: Receiver, network: Network) -> None:
    network.names[HOST] = [["127.0.0.2", "127.0.0.1"]]
    assert deliver(f"http://{HOST}:{receiver.port}/").delivered
    assert network.dialed == ["127.0.0.2", "127.0.0.1"]


def test_no_proxy_of_the_environment_is_used(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
            monkeypatch.setenv(name.upper(), proxy.url)
        assert deliver(receiver.url).delivered
        assert (proxy.calls, receiver.calls) == (0, 1)


def in_seconds(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120),
        (" 120 ", 120),
        ("0", 0),
        ("9" * 18, 10**18),
        ("9" * 19, 0),
        ("-1", 0),
        ("1.5", 0),
        ("1_0", 0),
        ("\u0661", 0),
        ("", 0),
        ("soon", 0),
        ("Fri, 31 Dec 99999 23:59:59 GMT", 0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
    ],
)
def test_a_retry_after_in_seconds_is_read_and_nonsense_is_not(text: str, seconds: float) -> None:
    assert webhooks._seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "written",
    [
        lambda moment: format_datetime(moment, usegmt=True),
        lambda moment: format_datetime(moment).replace("+0000", "-0000"),
        lambda moment: format_datetime(moment.astimezone(timezone(timedelta(hours=2)))),
        lambda moment: moment.strftime("%A, %d-%b-%y %H:%M:%S GMT"),
        lambda moment: moment.strftime("%a %b %d %H:%M:%S %Y"),
    ],
    ids=["imf-fixdate", "without-zone", "elsewhere", "rfc850", "asctime"],
)
def test_a_retry_after_may_be_a_date_in_each_of_its_forms(written: Callable[[datetime], str]) -> None:
    assert 800 < webhooks._seconds(written(in_seconds(900))) <= 900


@given(st.one_of(st.text(), st.text("0123456789 :,+-GMTJanFri", max_size=40)))
def test_whatever_a_retry_after_says_it_is_a_time_to_wait(text: str) -> None:
    assert webhooks._seconds(text) >= 0


def test_a_retry_after_is_part_of_the_outcome(receiver: Receiver) -> None:
    receiver.behave = answering(503, Retry_After="120")
    assert deliver(receiver.url) == Outcome("status 503", retry_after=120)


def jitter(monkeypatch: pytest.MonkeyPatch, choose: Callable[[float, float], float]) -> None:
    monkeypatch.setattr("random.uniform", choose)


def test_the_pause_doubles_with_every_receive_up_to_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    jitter(monkeypatch, max)
    pauses = [webhooks.seconds_to_next_try(Outcome("status 500"), count) for count in (*range(1, 11), 1000)]
    assert pauses == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600]


def test_a_pause_is_up_to_a_fifth_shorter_so_that_not_all_come_back_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    jitter(monkeypatch, min)
    assert [webhooks.seconds_to_next_try(Outcome("timed_out"), count) for count in (1, 2, 100)] == [24, 48, 2880]


@pytest.mark.parametrize(
    ("asked", "least", "most"), [(10, 24, 30), (100, 100, 120), (40_000, 40_000, 42_300), (10**18, 42_300, 42_300)]
)
def test_a_webhook_is_left_alone_for_as_long_as_it_asks(
    asked: float, least: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = Outcome("status 429", retry_after=asked)
    jitter(monkeypatch, min)
    assert webhooks.seconds_to_next_try(outcome, 1) == least
    jitter(monkeypatch, max)
    assert webhooks.seconds_to_next_try(outcome, 1) == most


@given(st.integers(1, 10**6), st.floats(0, 1e18))
def test_a_wait_is_one_that_sqs_takes_and_never_shorter_than_asked(count: int, asked: float) -> None:
    seconds = webhooks.seconds_to_next_try(Outcome("status 503", retry_after=asked), count)
    assert min(asked, 42_300) <= seconds <= 42_300
    assert seconds >= 24


def test_a_target_shows_neither_its_url_nor_its_secret() -> None:
    shown = repr(Target("https://a.example/?token=t0ken", SECRET, QUEUE, "https://sqs.example/queue", fifo=False))
    assert "t0ken" not in shown and SECRET not in shown and QUEUE in shown
