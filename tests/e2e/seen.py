"""What a run has seen of the service, for the test that looks for secrets in it when everything else has run."""

import re
from collections.abc import Mapping, Sequence

_KEY = re.compile(r"nv_sk_live_[A-Za-z0-9_-]{43}")

keys: set[str] = set()
"""Every key that was made or used."""
request_ids: set[str] = set()
"""Of the requests that a function answered."""
refusals: list[str] = []
"""Answers that are errors, headers and body."""
output: list[str] = []
"""What the command said on stdout and stderr."""


def answer(status: int, headers: Mapping[str, str], text: str) -> None:
    """Take note of an answer of the API."""
    keys.update(_KEY.findall(text))
    if "X-Request-Id" in headers:
        request_ids.add(headers["X-Request-Id"])
    if status >= 400:
        refusals.append(f"{dict(headers)} {text}")


def command(arguments: Sequence[str], stdout: str, stderr: str) -> None:
    """Take note of what the command said. `keys create` shows one key, once, and that is what it is for."""
    if arguments[:2] == ("keys", "create") and (made := _KEY.search(stdout)):
        keys.add(made[0])
        stdout = stdout.replace(made[0], "", 1)
    output.extend((stdout, stderr))
