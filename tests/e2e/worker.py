"""A worker as a user writes one with nothing but HTTP: lease, work, acknowledge, and give back what cannot be done.

It writes a line for each thing it does, before and after, so that a test can tell what a killed one was holding.
"""

import hashlib
import json
import os
import signal
import sys
import time
from typing import Any

import httpx

from tests.e2e.jobs import is_poison


def main(queue: str) -> None:
    """Work on a queue until SIGTERM, then end with the poll that is running: it may still be given messages."""
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    headers = {"Authorization": f"Bearer {os.environ['NAIVE_API_KEY']}"}
    with httpx.Client(base_url=os.environ["NAIVE_BASE_URL"], headers=headers, timeout=40) as http:
        path = f"/v1/queue/{queue}/messages"
        while not stopped:
            answer = http.get(path, params={"max": 10, "wait": 2})
            answer.raise_for_status()
            messages = answer.json()["messages"]
            for message in messages:
                record("leased", message)
            settle(http, path, messages)


def settle(http: httpx.Client, path: str, messages: list[Any]) -> None:
    """Work on the messages and say what became of each."""
    if not messages:
        return
    time.sleep(0.05)  # the work
    done = [message for message in messages if not is_poison(message["body"])]
    failed = [message for message in messages if is_poison(message["body"])]
    for message in messages:
        record("settling", message)
    answer = http.post(
        f"{path}/settle",
        json={
            "ack": [message["receipt_handle"] for message in done],
            "retry": [{"receipt_handle": message["receipt_handle"]} for message in failed],
        },
    )
    answer.raise_for_status()
    for message, result in zip(done, answer.json()["ack"], strict=True):
        record("acked" if result.get("ok") else "refused", message)
    for message in failed:
        record("failed", message)


def record(what: str, message: Any) -> None:
    digest = hashlib.sha256(message["body"].encode()).hexdigest()
    print(json.dumps({"what": what, "sha256": digest}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
