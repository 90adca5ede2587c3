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

from pydantic import ValidationError

from naive.constants import LEAST_WEBHOOK_SECRET_BYTES, WEBHOOK_TOLERANCE_SECONDS
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
    one that was seen before: work that must not be done twice goes by its `message_id`. The signature covers the id,
    the time and the body, but none of the `naive-*` headers: `queue_id`, `receive_count`, `group_id` and `attributes`
    are what anybody on the way may have made of them. While a secret is replaced both may be given.
    """
    content = _bytes(body) if isinstance(body, str) else body
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


def _field(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    if not (value and isinstance(value, str)):
        raise InvalidWebhookError(f"There is no {name}.")
    return value


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
    if len(key) < LEAST_WEBHOOK_SECRET_BYTES:  # with an empty one, as of a variable that is not set, anybody could sign
        raise ConfigurationError("The secret of the webhook is not one.", hint=f"It begins with {_PREFIX}.")
    return key


def _bytes(text: str) -> bytes:
    """Text as it came: some frameworks put what is not UTF-8 into text like this."""
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        raise InvalidWebhookError("The request is not one of a queue.") from None


def _message(id: str, fields: Mapping[str, object], content: bytes) -> WebhookMessage:
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
    except (ValidationError, ValueError, RecursionError):
        raise InvalidWebhookError("The request is not one of a queue.") from None


def _attributes(encoded: object) -> dict[str, object] | None:
    if encoded is None:
        return None
    if isinstance(encoded, str):
        attributes = json.loads(base64.urlsafe_b64decode(encoded))
        if isinstance(attributes, dict):
            return attributes
    raise ValueError("they are no JSON object")
