"""Sending more messages than anybody would keep in memory."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from naive import AsyncNaive, Naive, NewMessage, SendResult, UnauthorizedError
from tests.unit.clients.fake_api import BASE_URL, KEY, FakeApi

STREAM = Path(__file__).parent / "long_stream.py"


def stream(number: int) -> Iterator[NewMessage]:
    return (NewMessage(body=str(place)) for place in range(number))


@pytest.mark.parametrize(("client", "number"), [("blocking", 1_000_000), ("asynchronous", 100_000)])
def test_a_million_messages_take_less_than_a_hundred_megabytes(client: str, number: int) -> None:
    ended = subprocess.run(
        [sys.executable, STREAM, client, str(number)], capture_output=True, text=True, check=True, timeout=600
    )
    sent, told, megabytes = map(int, ended.stdout.split())
    assert (sent, told) == (number, number)
    assert megabytes < 100


def test_messages_are_taken_from_a_stream_only_as_they_are_sent(api: FakeApi) -> None:
    taken: list[str] = []
    requests: list[int] = []

    def respond(request: httpx.Request) -> httpx.Response:
        requests.append(len(taken))
        return httpx.Response(200, json={"results": [{"message_id": "m"}] * 100})

    def slowly() -> Iterator[NewMessage]:
        for message in stream(300):
            taken.append(message["body"])
            yield message

    Naive(KEY, BASE_URL, transport=httpx.MockTransport(respond)).queue.send_batch("q", slowly())
    assert requests == [101, 201, 300]


def test_each_message_is_told_with_its_result_in_order_and_then_forgotten(api: FakeApi) -> None:
    told: list[tuple[str, str | None]] = []
    api.answers_with({"results": [{"error": {"code": "unavailable", "message": "u"}}, {"message_id": "m-2"}]})
    api.answers_with({"results": [{"message_id": "m-1"}]})
    answer = api.client().queue.send_batch(
        "q", stream(2), on_result=lambda message, result: told.append((message["body"], result.message_id))
    )
    assert told == [("0", "m-1"), ("1", "m-2")]
    assert (answer.sent, answer.failed, answer.results) == (2, 0, [])


def test_when_a_request_fails_as_a_whole_its_messages_are_told_before_the_error_is_raised(api: FakeApi) -> None:
    told: list[str] = []
    api.answers_with({"results": [{"message_id": "m"}] * 100})
    api.answers_with({"results": [{"message_id": "m"}, {"error": {"code": "unavailable", "message": "u"}}]})
    api.refuses_with("unauthorized", 401)

    def tell(message: NewMessage, result: SendResult) -> None:
        told.append(result.error.code if result.error else "sent")

    with pytest.raises(UnauthorizedError) as refused:
        api.client().queue.send_batch("q", stream(102), on_result=tell)
    assert told == ["sent"] * 101 + ["unauthorized"]
    assert refused.value.details == {"settled": 101}


def test_an_asynchronous_stream_may_be_told_of_asynchronously() -> None:
    told: list[str] = []

    async def tell(message: NewMessage, result: SendResult) -> None:
        await asyncio.sleep(0)
        told.append(message["body"])

    async def slowly() -> AsyncIterator[NewMessage]:
        for message in stream(150):
            await asyncio.sleep(0)
            yield message

    def respond(request: httpx.Request) -> httpx.Response:
        number = request.content.count(b'"body"')
        return httpx.Response(200, json={"results": [{"message_id": "m"}] * number})

    async def send() -> int:
        async with AsyncNaive(KEY, BASE_URL, transport=httpx.MockTransport(respond)) as naive:
            return (await naive.queue.send_batch("q", slowly(), on_result=tell)).sent

    assert asyncio.run(send()) == 150
    assert told == [str(number) for number in range(150)]


def test_what_a_callback_raises_ends_the_stream(api: FakeApi) -> None:
    api.answers_with({"results": [{"message_id": "m"}] * 100})

    def tell(message: NewMessage, result: SendResult) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        api.client().queue.send_batch("q", stream(300), on_result=tell)
    assert len(api.requests) == 1
