"""Opaque URL-safe texts that we hand out and get back: receipt handles and cursors.

A token carries a digest of its content keyed by what it belongs to, so one that was cut, changed or issued for
something else is told apart before anything is asked of AWS. It is no secret and grants nothing: whoever could make one
up holds a key that reaches the same messages.
"""

import base64
import binascii
from hashlib import blake2b

_DIGEST = 8


def seal(kind: str, content: bytes, owner: str) -> str:
    """The token of this kind for `content`, good for `owner` alone; it starts like no option does."""
    return f"{kind}_" + base64.urlsafe_b64encode(_digest(kind, content, owner) + content).rstrip(b"=").decode()


def unseal(kind: str, token: str, owner: str) -> bytes | None:
    """What was sealed, or None when it was not sealed like this for `owner`. Whoever tries may have made it up."""
    text = token.removeprefix(f"{kind}_")
    try:
        raw = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return None
    content = raw[_DIGEST:]
    # Comparing the text too: base64 has more than one spelling of the same bytes.
    return content if seal(kind, content, owner) == token else None


def _digest(kind: str, content: bytes, owner: str) -> bytes:
    return blake2b(content, digest_size=_DIGEST, key=owner.encode(), person=kind.encode()).digest()
