"""Signatures of others: what is signed by the specification is known, and what is not is refused."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from naive import ConfigurationError, InvalidWebhookError, webhooks

# The one that the reference libraries of Standard Webhooks test themselves with.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
TIME = 1614265330
BODY = '{"test": 2432232314}'
HEADERS = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": str(TIME),
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}


@pytest.mark.parametrize("secret", [SECRET, SECRET.removeprefix("whsec_"), f" {SECRET}\n"])
@pytest.mark.parametrize("body", [BODY, BODY.encode()])
def test_the_published_example_is_known(secret: str, body: str | bytes) -> None:
    message = webhooks.verify(secret, HEADERS, body, now=lambda: TIME)
    assert (message.message_id, message.body, message.queue_id) == (HEADERS["webhook-id"], BODY, None)


def test_the_published_example_is_too_old_by_now() -> None:
    with pytest.raises(InvalidWebhookError, match="too old"):
        webhooks.verify(SECRET, HEADERS, BODY)


@pytest.mark.parametrize("body", [BODY + " ", BODY.replace("2", "3"), ""])
def test_another_body_is_refused(body: str) -> None:
    with pytest.raises(InvalidWebhookError, match="signature"):
        webhooks.verify(SECRET, HEADERS, body, now=lambda: TIME)


def test_the_old_secret_and_the_new_one_are_taken_while_they_change() -> None:
    other = "whsec_b3RoZXIgb3RoZXIgb3RoZXI="
    assert webhooks.verify([other, SECRET], HEADERS, BODY, now=lambda: TIME).body == BODY
    for secrets in ([other], []):
        with pytest.raises(InvalidWebhookError, match="signature"):
            webhooks.verify(secrets, HEADERS, BODY, now=lambda: TIME)


def test_a_list_in_which_not_all_are_secrets_is_a_mistake_of_the_program() -> None:
    with pytest.raises(ConfigurationError, match="secret"):
        webhooks.verify([SECRET, "whsec_eA=="], HEADERS, BODY, now=lambda: TIME)


@pytest.mark.parametrize(
    "header",
    [
        {"webhook-timestamp": "9" * 5000},
        {"webhook-timestamp": f"{TIME}\n"},
        {"webhook-timestamp": "\u0661"},
        {"webhook-signature": "v1,\udce9"},
        {"webhook-signature": "v1,\ud800"},
        {"webhook-signature": [HEADERS["webhook-signature"]]},
        {"webhook-signature": b"v1,"},
        {"webhook-timestamp": TIME},
        {"webhook-id": "m\udce9"},
        {"webhook-id": "m\ud800"},
        {"webhook-id": ""},
        {"webhook-id": None},
    ],
)
def test_whatever_comes_is_refused_and_breaks_nothing(header: dict[str, Any]) -> None:
    with pytest.raises(InvalidWebhookError):
        webhooks.verify(SECRET, HEADERS | header, BODY, now=lambda: TIME)


@pytest.mark.parametrize("body", ["\udce9", "\ud800", b"\xe9"])
def test_a_body_that_is_no_text_is_refused(body: bytes | str) -> None:
    with pytest.raises(InvalidWebhookError):
        webhooks.verify(SECRET, HEADERS, body, now=lambda: TIME)


@pytest.mark.parametrize(
    "header",
    [
        {"naive-attributes": "e30"},
        {"naive-attributes": "\udce9"},
        {"naive-attributes": base64.b64encode(b"[" * 100_000).decode()},
        {"naive-attributes": base64.b64encode(b'{"a":' * 100_000).decode()},
        {"naive-attributes": ["e30="]},
        {"naive-attributes": {"a": "b"}},
        {"naive-receive-count": ["2"]},
        {"naive-group-id": ["g"]},
    ],
)
def test_headers_of_ours_that_cannot_be_read_are_refused(header: dict[str, Any]) -> None:
    with pytest.raises(InvalidWebhookError, match="not one of a queue"):
        webhooks.verify(SECRET, HEADERS | header, BODY, now=lambda: TIME)
