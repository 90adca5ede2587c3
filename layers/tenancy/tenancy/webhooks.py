"""One delivery: a message becomes a signed POST to the webhook of its queue, and what comes back becomes an outcome.

Whatever the other side does, it is over within SECONDS, its name, connection and answer included. It is spoken to over
a connection that is made here and not by an HTTP library: to an address that was judged, under the name that was
judged, past no proxy. The answer counts by its status alone, so no redirect is followed.
"""

import base64
import json
import random
import re
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException
from math import ceil
from threading import Timer
from typing import Any

from standardwebhooks import Webhook

from tenancy import addresses
from tenancy.addresses import Endpoint
from tenancy.errors import InvalidInput
from tenancy.receipts import MAX_LEASE
from tenancy.telemetry import log_unhandled

type Record = dict[str, Any]
"""A message as Lambda gets it from SQS."""

SECONDS = 10
"""The longest that a delivery takes."""

_FIRST_PAUSE = 30
_LONGEST_PAUSE = 3600
_LONGEST_WAIT = MAX_LEASE - 900
"""SQS ends a lease 12 h after the receive, which was before the function that the message is in began."""
_ATTRIBUTES_BYTES = 4096
_GLANCE_BYTES = 64 * 1024
_GLANCE_SECONDS = 1

# One for all deliveries: reading the authorities is the larger part of a start.
_tls = ssl.create_default_context()


@dataclass(frozen=True, slots=True)
class Target:
    """The webhook of a queue. What signs is secret, and what a URL holds may be."""

    url: str = field(repr=False)
    secret: str = field(repr=False)
    queue_id: str
    queue_url: str
    fifo: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a delivery ended."""

    what: str
    """The status of the answer, or the kind of fault when there was none."""
    delivered: bool = False
    retry_after: float = 0
    """The seconds for which the webhook asks to be left alone."""


def deliver(target: Target, record: Record, *, allow_loopback: bool, deadline: float) -> Outcome:
    """Post one message, within SECONDS and before the deadline on the monotonic clock."""
    deadline = min(deadline, time.monotonic() + SECONDS)
    try:
        endpoint = addresses.parse(target.url, allow_loopback=allow_loopback)
        left = deadline - time.monotonic()
        hosts = addresses.resolve(endpoint, allow_loopback=allow_loopback, seconds=left)
        with _connected(endpoint, hosts, deadline) as line:
            return _post(endpoint, line, _headers(target, endpoint, record), record["body"].encode(), deadline)
    except (InvalidInput, OSError, HTTPException) as fault:
        return Outcome("timed_out" if time.monotonic() >= deadline else _kind(fault))
    except Exception as fault:
        log_unhandled(fault)  # And no more: the other messages are not to suffer from this one.
        return Outcome("internal_error")


def seconds_to_next_try(outcome: Outcome, receive_count: int) -> int:
    """For how long a message stays hidden that was received so many times and not delivered.

    30 s, doubled with every receive up to an hour, and up to a fifth less: what failed together comes back apart. When
    the webhook asked for more it is that, and up to a fifth more.
    """
    pause = min(_FIRST_PAUSE << min(receive_count - 1, 10), _LONGEST_PAUSE)
    wait = max(pause * random.uniform(0.8, 1), outcome.retry_after * random.uniform(1, 1.2))
    return min(ceil(wait), _LONGEST_WAIT)


@contextmanager
def _connected(endpoint: Endpoint, hosts: list[str], deadline: float) -> Iterator[socket.socket]:
    """A connection to the first of the addresses that takes one, encrypted and with the host's certificate."""
    with _reach(hosts, endpoint.port, deadline) as line, _cut_off(line, deadline):
        if not endpoint.secure:
            yield line
            return
        with _tls.wrap_socket(line, server_hostname=endpoint.host) as encrypted:
            yield encrypted


def _reach(hosts: list[str], port: int, deadline: float) -> socket.socket:
    """Connect to one address after the other, which share the time that is left."""
    fault: OSError = TimeoutError()
    for index, host in enumerate(hosts):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        try:
            line = socket.create_connection((host, port), timeout=left / (len(hosts) - index))
        except OSError as refused:
            fault = refused
        else:
            line.settimeout(SECONDS)
            return line
    raise fault


@contextmanager
def _cut_off(line: socket.socket, deadline: float) -> Iterator[None]:
    """Hang up when time is up, whatever goes on: a socket's own timeout starts anew with every byte."""
    # Another handle of the same connection, since TLS takes this one over.
    handle = line.dup()
    timer = Timer(deadline - time.monotonic(), _hang_up, [handle])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        handle.close()


def _hang_up(handle: socket.socket) -> None:
    with suppress(OSError):  # The other side was faster.
        handle.shutdown(socket.SHUT_RDWR)


def _post(endpoint: Endpoint, line: socket.socket, headers: dict[str, str], body: bytes, deadline: float) -> Outcome:
    connection = HTTPConnection(endpoint.host, endpoint.port)
    connection.sock = line
    # Whoever refuses a large body may hang up before it is sent whole: the answer is there already.
    with suppress(ConnectionError):
        connection.request("POST", endpoint.target, body, headers)
    with connection.getresponse() as response:
        if time.monotonic() >= deadline:
            raise TimeoutError  # To hang up in the middle of the headers looks like their end from here.
        # Nobody reads the body, but to hang up in the middle of a short one would look like a failure over there.
        with suppress(OSError):
            line.settimeout(_GLANCE_SECONDS)
            if response.length != 0:
                response.fp.read1(_GLANCE_BYTES)
        return Outcome(
            f"status {response.status}",
            delivered=200 <= response.status < 300,
            retry_after=_seconds(response.getheader("Retry-After", "")),
        )


def _headers(target: Target, endpoint: Endpoint, record: Record) -> dict[str, str]:
    message, body, facts = record["messageId"], record["body"], record["attributes"]
    now = datetime.now(UTC)
    headers = {
        "Host": endpoint.authority,
        "Connection": "close",
        "User-Agent": "naive-webhooks/1",
        "Content-Type": "application/json" if _is_json(body) else "text/plain; charset=utf-8",
        "webhook-id": message,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(target.secret).sign(message, now, body),
        "naive-queue-id": target.queue_id,
        "naive-receive-count": facts["ApproximateReceiveCount"],
    }
    if "MessageGroupId" in facts:
        headers["naive-group-id"] = facts["MessageGroupId"]
    if sent := record.get("messageAttributes"):
        # One that somebody sent natively may be binary: it is base64 here already.
        attributes = {name: value.get("stringValue", value.get("binaryValue")) for name, value in sent.items()}
        text = base64.urlsafe_b64encode(json.dumps(attributes, ensure_ascii=False).encode()).decode()
        fits = len(text) <= _ATTRIBUTES_BYTES
        headers |= {"naive-attributes": text} if fits else {"naive-attributes-omitted": "true"}
    return headers


def _is_json(text: str) -> bool:
    try:
        # Numbers are left as they are: of one with many digits Python would make no int.
        json.loads(text, parse_int=str, parse_float=str, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _seconds(retry_after: str) -> float:
    """The seconds that a Retry-After says, as a number or as a date; 0 for what is neither, or over."""
    if re.fullmatch(r"[0-9]{1,18}", retry_after.strip()):
        return float(retry_after)
    try:
        date = parsedate_to_datetime(retry_after)
        # A date without a zone is in GMT, as HTTP's dates are.
        return max(0, date.replace(tzinfo=date.tzinfo or UTC).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return 0


def _kind(fault: InvalidInput | OSError | HTTPException) -> str:
    match fault:
        case InvalidInput():
            return str(fault.details["rule"])
        case TimeoutError():
            return "timed_out"
        case ssl.SSLCertVerificationError():
            return "certificate_refused"
        case ssl.SSLError():
            return "tls_failed"
        case OSError():
            return "connection_failed"
        case _:
            return "no_http"
