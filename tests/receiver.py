"""A webhook on this machine for tests: it keeps what it is sent, and answers as it is told, also badly and over TLS."""

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from ipaddress import ip_address
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    line: str
    headers: dict[str, str]
    """With names in lower case."""
    body: bytes


@dataclass
class Call:
    """One connection, as whoever answers it has it."""

    line: socket.socket
    receiver: "Receiver"

    def read(self) -> Received:
        """Read the request, and keep it."""
        head, _, body = self._until(b"\r\n\r\n").partition(b"\r\n\r\n")
        request, _, fields = head.partition(b"\r\n")
        headers = {name.lower(): value for name, value in message_from_bytes(fields).items()}
        while len(body) < int(headers["content-length"]):
            body += self.line.recv(1 << 16)
        received = Received(request.decode(), headers, body)
        self.receiver.requests.append(received)
        return received

    def answer(self, status: int = 200, body: bytes = b"", **headers: str) -> None:
        """Answer as a decent webhook does."""
        fields = {"Content-Length": str(len(body)), **{name.replace("_", "-"): text for name, text in headers.items()}}
        head = [f"HTTP/1.1 {status} -", *(f"{name}: {text}" for name, text in fields.items())]
        self.line.sendall("\r\n".join([*head, "", ""]).encode() + body)

    def wait(self) -> None:
        """Do nothing until the other side hangs up."""
        while self.line.recv(1 << 16):
            pass

    def _until(self, end: bytes) -> bytes:
        data = b""
        while end not in data:
            more = self.line.recv(1 << 16)
            if not more:
                raise ConnectionError("hung up in the middle of a request")
            data += more
        return data


type Behaviour = Callable[[Call], None]


def answering(status: int = 200, body: bytes = b"", **headers: str) -> Behaviour:
    """Read the request and answer like this; a _ in a header's name stands for -."""

    def behave(call: Call) -> None:
        call.read()
        call.answer(status, body, **headers)

    return behave


class Receiver(ThreadingTCPServer):
    """What behaves like a webhook, at a free port of 127.0.0.1."""

    def __init__(self, behave: Behaviour, tls: ssl.SSLContext | None):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behave = behave
        self.tls = tls
        self.calls = 0
        self.requests: list[Received] = []

    @property
    def port(self) -> int:
        port: int = self.server_address[1]
        return port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: that the other side hangs up or refuses our certificate is what some tests are about."""


class _Handler(BaseRequestHandler):
    server: Receiver

    def handle(self) -> None:
        self.server.calls += 1
        if self.server.tls is None:
            self.server.behave(Call(self.request, self.server))
            return
        with self.server.tls.wrap_socket(self.request, server_side=True) as line:
            self.server.behave(Call(line, self.server))


@contextmanager
def receiving(behave: Behaviour | None = None, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """A receiver while it is needed; what it does may be changed meanwhile."""
    with Receiver(behave or answering(), tls) as receiver:
        thread = Thread(target=receiver.serve_forever, args=[0.01])
        thread.start()
        try:
            yield receiver
        finally:
            receiver.shutdown()
            thread.join()


class Authority:
    """Who says whose certificate is whose."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Authority of a test")])
        usage = dict.fromkeys(_USAGES, False) | {"key_cert_sign": True}
        self._certificate = (
            self._about(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.KeyUsage(**usage), critical=True)
            .sign(self._key, SHA256())
        )

    def trusted(self) -> ssl.SSLContext:
        """What a client has that trusts this authority and no other."""
        return ssl.create_default_context(cadata=self._certificate.public_bytes(Encoding.PEM).decode())

    def server(self, host: str) -> ssl.SSLContext:
        """What a server has that is this host, a name or an address."""
        key = ec.generate_private_key(ec.SECP256R1())
        try:
            name: x509.GeneralName = x509.IPAddress(ip_address(host))
        except ValueError:
            name = x509.DNSName(host)
        certificate = (
            self._about(x509.Name([]), key.public_key())
            .add_extension(x509.SubjectAlternativeName([name]), critical=True)
            .sign(self._key, SHA256())
        )
        file = self._folder / f"{host}.pem"
        file.write_bytes(
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            + certificate.public_bytes(Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _about(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )


_USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)
