"""Whether a webhook's request comes from its queue: `webhooks.verify`.

By the Standard Webhooks specification, whose own library would bring others along for these few lines.
"""

from __future__ import annotations

import base64
import hmac
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from naive.constants import WEBHOOK_TOLERANCE_SECONDS
from naive.errors import ConfigurationError, InvalidWebhookError
from naive.models import WebhookMessage

_PREFIX = "whsec_"


def verify(
    secret: str | Sequence[str],
    headers: Mapping[str, str],
    body: bytes | str,
    *,
    now: Callable[[], float] = time.time,
) -> WebhookMessage:
    """The message of a webhook's request, whose body is given exactly as it came.

    Raises InvalidWebhookError unless it was signed with this secret within the last five minutes. It may still be
    one that was seen before: work that must not be done twice goes by its `message_id`. While a secret is replaced
    both may be given.
    """
    content = body.encode() if isinstance(body, str) else body
    fields = {name.lower(): value for name, value in headers.items()}
    id, timestamp, signatures = (
        _field(fields, name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
    )
    _check_time(timestamp, now())
    keys = [_key(one) for one in ([secret] if isinstance(secret, str) else secret)]
    signed = _bytes(f"{id}.{timestamp}.") + content
    if not any(_is_signature(given, keys, signed) for given in _bytes(signatures).split(b" ")):
        raise InvalidWebhookError("The signature is not one of this body with this secret.")
    return _message(id, fields, content)


def _field(fields: Mapping[str, str], name: str) -> str:
    if not fields.get(name):
        raise InvalidWebhookError(f"There is no {name}.")
    return fields[name]


def _check_time(timestamp: str, now: float) -> None:
    if not re.fullmatch(r"[0-9]{1,15}", timestamp):
        raise InvalidWebhookError("The webhook-timestamp is not a time.")
    age = now - int(timestamp)
    if abs(age) > WEBHOOK_TOLERANCE_SECONDS:
        raise InvalidWebhookError("The request is too old." if age > 0 else "The request is from the future.")


def _is_signature(given: bytes, keys: Sequence[bytes], signed: bytes) -> bool:
    """Whether it is one with any of the keys; how long that takes tells nothing of them."""
    made = [b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256")) for key in keys]
    return any(hmac.compare_digest(expected, given) for expected in made)


def _key(secret: str) -> bytes:
    encoded = secret.strip().removeprefix(_PREFIX)
    try:
        key = base64.b64decode(encoded, validate=True)
    except ValueError:
        key = b""
    if not key:  # with an empty one, as of a variable that is not set, anybody could sign
        raise ConfigurationError("The secret of the webhook is not one.", hint=f"It begins with {_PREFIX}.")
    return key


def _bytes(text: str) -> bytes:
    """A header as it came: some frameworks put what is not UTF-8 into text like this."""
    return text.encode(errors="surrogateescape")


def _message(id: str, fields: Mapping[str, str], content: bytes) -> WebhookMessage:
    try:
        return WebhookMessage.model_validate(
            {
                "message_id": id,
                "body": content.decode(),
                "queue_id": fields.get("naive-queue-id"),
                "receive_count": fields.get("naive-receive-count"),
                "group_id": fields.get("naive-group-id"),
                "attributes": _attributes(fields.get("naive-attributes")),
            }
        )
    except (ValidationError, ValueError):
        raise InvalidWebhookError("The request is not one of a queue.") from None


def _attributes(encoded: str | None) -> Any:
    return None if encoded is None else json.loads(base64.urlsafe_b64decode(encoded))
