"""What the API says, in the words of the command line."""

from __future__ import annotations

import re

from naive.constants import ACTIVE_USER_VARIABLE, API_KEY_VARIABLE
from naive.errors import NaiveError

_OPTIONS = {
    '"type": "fifo"': "--fifo",
    "active_tenant_user_id": "--user",
    "dedup_id": "--dedup",
    "delay_seconds": "--delay",
    "dlq true": "--dlq",
    "external_id": "--external-id",
    "force=true": "--force",
    "group_id": "--group",
    "max_receive_count": "--max-receives",
    "retention_seconds": "--retention",
    "visibility_timeout": "--visibility",
}
_SAID = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, _OPTIONS))})(?!\w)")

_HINTS = {
    "unauthorized": f"Give a valid key to `naive login`, or set {API_KEY_VARIABLE} to one.",
    "key_subject_mismatch": f"Leave out --user and {ACTIVE_USER_VARIABLE}, and run `naive use default`; or use a key "
    "that is not sealed.",
}


def translated(text: str) -> str:
    """The text with the API's fields as the options that stand for them."""
    return _SAID.sub(lambda said: _OPTIONS[said[0]], text)


def hint_of(error: NaiveError) -> str | None:
    """What to do about it, from here."""
    return _HINTS.get(error.code) or (error.hint and translated(error.hint))
