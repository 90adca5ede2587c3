"""Fair use on the deployed stack, with limits so low that a test can exceed them."""

import importlib
import re
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from local.stack import NAME
from tests.e2e.conftest import Api, client, unique
from tests.e2e.deployed import operator, records
from tests.template import routes

RATE, BURST, POLLS = 10, 20, 3
LOW = {"REQUEST_RATE": str(RATE), "REQUEST_BURST": str(BURST), "WAITING_POLLS": str(POLLS)}
FUNCTIONS = ("send_message", "receive_messages", "get_queue_attributes")
FLOOD_SECONDS = 10
FLOODING = 4


@pytest.fixture(scope="module")
def low_limits() -> Iterator[None]:
    """Low limits for the functions that these tests call."""
    functions = operator("lambda")
    before: dict[str, dict[str, str]] = {}
    try:
        for name in FUNCTIONS:
            function = f"{NAME}-{name}"
            before[function] = functions.get_function_configuration(FunctionName=function)["Environment"]["Variables"]
            functions.update_function_configuration(
                FunctionName=function, Environment={"Variables": before[function] | LOW}
            )
        yield
    finally:
        for function, variables in before.items():
            functions.update_function_configuration(FunctionName=function, Environment={"Variables": variables})


@contextmanager
def another_key(api: Api) -> Iterator[tuple[Api, str]]:
    """A client of the same company with a key of its own, and the key's id."""
    made = api("POST", "/v1/auth/keys", {"name": unique()}).json()
    with client(made["api_key"]) as http:
        yield Api(http), made["key_id"]


def usage(key_id: str) -> Any:
    """What is stored of a key; nothing before it was used."""
    return next((record for record in records("Usage") if record["id"]["S"] == key_id), None)


def work(api: Api, queue: str) -> list[int]:
    """What the calls of somebody who works at a modest pace are answered."""
    return [
        api("POST", f"/v1/queue/{queue}/messages", {"body": "work"}).status_code,
        api("GET", f"/v1/queue/{queue}/messages", wait=0).status_code,
        api("GET", f"/v1/queue/{queue}/attributes").status_code,
    ]


def flood(api: Api, queue: str, until: float) -> list[tuple[float, httpx.Response]]:
    answers = []
    while time.monotonic() < until:
        answer = api("POST", f"/v1/queue/{queue}/messages", {"body": "flood"})
        answers.append((time.monotonic(), answer))
    return answers


def test_a_flooding_key_is_held_to_its_rate_and_the_others_work(api: Api, stranger: Api, low_limits: None) -> None:
    mine, theirs = api.queue(), stranger.queue()
    with another_key(api) as (flooding, _), another_key(api) as (colleague, _), ThreadPoolExecutor() as pool:
        assert work(colleague, mine) == work(stranger, theirs) == [201, 200, 200]
        # As many environments as the flood wants, so that it is not spent on waiting for them.
        list(pool.map(api.send, [mine] * FLOODING))
        started = time.monotonic()
        until = started + FLOOD_SECONDS
        floods = [pool.submit(flood, flooding, mine, until) for _ in range(FLOODING)]
        worked = []
        while time.monotonic() < until:
            worked += [work(colleague, mine), work(stranger, theirs)]
            time.sleep(0.5)
        answers = sorted((answer for each in floods for answer in each.result()), key=lambda answer: answer[0])
        assert worked == [[201, 200, 200]] * len(worked)
        assert len(worked) >= 4
        refused = [answer for _, answer in answers if answer.status_code == 429]
        admitted = [at - started for at, answer in answers if answer.status_code == 201]
        assert len(refused) + len(admitted) == len(answers)
        assert len(refused) > len(admitted) >= BURST
        # Each environment gives a burst until it has learnt of the others, which takes a second.
        assert len(admitted) <= 2 * (BURST + RATE * FLOOD_SECONDS)
        for answer in refused:
            assert answer.json()["error"]["code"] == "rate_limited"
            assert answer.headers["X-RateLimit-Limit"] == str(RATE)
            assert answer.headers["X-RateLimit-Remaining"] == "0"
            assert answer.headers["X-RateLimit-Reset"] == answer.headers["Retry-After"]
        time.sleep(int(refused[-1].headers["Retry-After"]))
        assert work(flooding, mine) == [201, 200, 200]


def test_one_more_waiting_poll_than_allowed_is_refused(api: Api, low_limits: None) -> None:
    empty, other = api.queue(), api.queue()
    with another_key(api) as (worker, key_id), another_key(api) as (colleague, _), ThreadPoolExecutor() as pool:
        waits = [pool.submit(worker.receive, empty, wait=12) for _ in range(POLLS)]
        until = time.monotonic() + 10
        while len((usage(key_id) or {}).get("polls", {}).get("SS", [])) < POLLS:
            assert time.monotonic() < until
            time.sleep(0.1)
        refused = worker("GET", f"/v1/queue/{empty}/messages", wait=12)
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limited")
        assert refused.headers["X-RateLimit-Limit"] == str(POLLS)
        assert 1 <= int(refused.headers["Retry-After"]) <= 12
        assert work(worker, other) == [201, 200, 200]
        assert worker.receive(empty, wait=1) == []
        assert colleague.receive(empty, wait=2) == []
        assert [wait.result() for wait in waits] == [[]] * POLLS
        assert "polls" not in usage(key_id)


def test_every_function_that_asks_for_a_key_counts(api: Api) -> None:
    uncounted = []
    for (method, path), folder in routes().items():
        if importlib.import_module(f"functions.{folder}.app").handler.operation.public:
            continue
        with another_key(api) as (asking, key_id):
            asking(method, re.sub(r"\{\w+\}", str(uuid.uuid4()), path))
            if usage(key_id) is None:
                uncounted.append((method, path))
    assert uncounted == []
