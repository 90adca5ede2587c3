"""What is secret, and where a run may have left it: in logs, refusals and what the command said."""

import base64
import re
import uuid
from collections.abc import Iterable, Iterator
from itertools import chain

from tests.e2e import seen
from tests.e2e.deployed import environment, operator

GROUP = "/naive/local/functions"
CANARY = f"canary-{uuid.uuid4().hex}"
"""In all that makes up a message."""
PERSON = f"person-{uuid.uuid4().hex}"
"""In all that is said of a user."""
MEANT = {("output", "a receipt handle"), ("output", "a webhook's secret")}
"""What is shown on purpose: a message that was received, to be acknowledged by hand, and a new webhook, once."""

type Finding = tuple[str, str, str]
"""Where it is, what it is, and the line that it is in."""


def everything() -> Iterator[Finding]:
    """All secrets that are found: in what the functions have logged, metrics among it, and in what callers have met."""
    return chain(in_texts("log", log()), in_texts("refusals", seen.refusals), in_texts("output", seen.output))


def in_texts(place: str, texts: Iterable[str]) -> Iterator[Finding]:
    """What is secret in texts: parts of keys, what tenants say, their receipts, and where things are in AWS."""
    secrets = [key.removeprefix("nv_sk_live_") for key in {*seen.keys, environment("NAIVE_API_KEY")}]
    runs = {secret[start : start + 8] for secret in secrets for start in range(len(secret) - 7)}
    account = operator("sts").get_caller_identity()["Account"]
    dashed = f"{account[:4]}-{account[4:8]}-{account[8:]}"
    encoded = base64.b64encode(account.encode()).decode()
    patterns = {
        "a message": re.compile(CANARY),
        "a person": re.compile(PERSON),
        "a receipt handle": re.compile(r"receipt_[\w-]{40}"),
        "a webhook's secret": re.compile(r"whsec_[\w+/]{40}"),
        "a queue's URL": re.compile(r"https?://\S+/nv-|nv-local-[0-9a-f]{24}"),
        "an ARN": re.compile("arn:aws"),
        # An id that a caller made up may have as many zeros, between dashes.
        "the account": re.compile(rf"(?<![\w-])({account}|{dashed})(?![\w-])|{encoded}"),
    }
    harmless = set[str]()
    for text in texts:
        words = {*re.findall(r"[\w-]{8,}", text)} - harmless
        if any(word[start : start + 8] in runs for word in words for start in range(len(word) - 7)):
            yield place, "a key", text
        else:
            harmless |= words
        found = [(place, what) for what, pattern in patterns.items() if pattern.search(text)]
        yield from ((place, what, text) for place, what in found if (place, what) not in MEANT)


def log() -> Iterator[str]:
    """Every line that the functions and Lambda itself have logged, and the streams' names."""
    for page in operator("logs").get_paginator("filter_log_events").paginate(logGroupName=GROUP):
        for event in page["events"]:
            yield event["message"]
            yield event["logStreamName"]
