"""Sends a long stream to a server that takes everything, in a process of its own, and prints what that cost.

python tests/unit/clients/long_stream.py blocking|asynchronous NUMBER
"""

from __future__ import annotations

import asyncio
import re
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx

from naive import AsyncNaive, Naive, NewMessage, SendResult

KEY, URL = "nv_sk_live_" + "k" * 43, "http://127.0.0.1"


class Counter:
    """Counts what it is told of."""

    def __init__(self) -> None:
        self.told = 0

    def __call__(self, message: NewMessage, result: SendResult) -> None:
        self.told += 1


def messages(number: int) -> Iterator[NewMessage]:
    return ({"body": f"job {place}"} for place in range(number))


def accept(request: httpx.Request) -> httpx.Response:
    number = request.content.count(b'"body"')
    return httpx.Response(200, json={"results": [{"message_id": "m" * 36}] * number})


def blocking(number: int, counter: Counter) -> int:
    with Naive(KEY, URL, transport=httpx.MockTransport(accept)) as naive:
        return naive.queue.send_batch("q", messages(number), on_result=counter).sent


async def asynchronous(number: int, counter: Counter) -> int:
    async with AsyncNaive(KEY, URL, transport=httpx.MockTransport(accept)) as naive:
        return (await naive.queue.send_batch("q", messages(number), on_result=counter)).sent


def peak_megabytes() -> int:
    """The most memory that this process had; Linux counts that of its parent in what it calls the maximum."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())[0]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024**2


if __name__ == "__main__":
    client, asked = sys.argv[1], int(sys.argv[2])
    counted = Counter()
    sent = blocking(asked, counted) if client == "blocking" else asyncio.run(asynchronous(asked, counted))
    print(sent, counted.told, peak_megabytes())
