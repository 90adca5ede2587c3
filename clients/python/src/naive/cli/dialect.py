"""What the API says, in the words of the command line."""

from __future__ import annotations

import re

from naive.cli import acting
from naive.cli.acting import Acting
from naive.constants import API_KEY_VARIABLE
from naive.errors import NaiveError

_OPTIONS = {
    '"type": "fifo"': "--fifo",
    "active_tenant_user_id": "--user",
    "batch_size": "--batch-size",
    "dedup_id": "--dedup",
    "delay_seconds": "--delay",
    "dlq true": "--dlq",
    "external_id": "--external-id",
    "force=true": "--force",
    "group_id": "--group",
    "idle_seconds": "--idle-seconds",
    "max_concurrency": "--max-concurrency",
    "max_receive_count": "--max-receives",
    "messages_per_worker": "--messages-per-worker",
    "queue_id": "--queue",
    "retention_seconds": "--retention",
    "service_id": "--service",
    "visibility_timeout": "--visibility",
}
# A field with a value after it is what something has, and not what to type.
_SAID = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, _OPTIONS))})(?!\w)(?! ['\"])")

_USAGE = {
    "Input should be a valid integer, unable to parse string as an integer": "it has to be a whole number.",
    "Input should be a valid number, unable to parse string as a number": "it has to be a number.",
}
_RANGE = re.compile(r"Input should be ((?:greater|less) than(?: or equal to)? \S+)$")


def translated(text: str) -> str:
    """The text with the API's fields as the options that stand for them."""
    return _SAID.sub(lambda said: _OPTIONS[said[0]], text)


def of_usage(text: str) -> str:
    """What the parser says of a value, in the words of the command line."""
    for said, told in _USAGE.items():
        text = text.replace(said, told)
    return _RANGE.sub(r"it has to be \1.", text)


def hint_of(error: NaiveError) -> str | None:
    """What to do about it, from here."""
    if error.code == "unauthorized":
        return f"Give a valid key to `naive login`, or set {API_KEY_VARIABLE} to one."
    whose = acting.current()
    if error.code == "key_subject_mismatch":
        if whose is None:
            return "Use a key that is not sealed."
        return f"{_acted_for(whose)}: {whose.way_back}. Or use a key that is not sealed."
    if error.code == "not_found" and whose and not error.hint:
        return f"{_acted_for(whose)}. `naive users list` shows those there are. If it is gone, {whose.way_back}."
    return error.hint and translated(error.hint)


def _acted_for(whose: Acting) -> str:
    return f"The command acts for user {whose.user_id}, whom {whose.named_by}"
