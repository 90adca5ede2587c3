"""A worker: it waits for messages and works on four of them at a time.

NAIVE_BASE_URL=… NAIVE_API_KEY=… NAIVE_QUEUE_ID=… python worker.py

SIGTERM or Ctrl-C lets it finish what it has begun, and then it ends.
"""

from __future__ import annotations

import os
import time

from naive import Delivery, Event, Naive, Retry


def work(message: Delivery) -> None:
    """Work on one message. It is acked when this returns, and comes again when this raises."""
    if message.body == "not yet" and message.receive_count == 1:
        raise Retry(after=1)
    time.sleep(0.2)


def report(event: Event) -> None:
    """Hear of everything that happens; metrics would be counted here."""
    if event.kind == "done" and event.message:
        print(f"done {event.message.body} in {event.seconds:.1f} s")


if __name__ == "__main__":
    with Naive() as naive:
        counts = naive.queue.consume(os.environ["NAIVE_QUEUE_ID"], work, concurrency=4, on_event=report)
    print(f"{counts.done} done, {counts.failed} failed, {counts.given_back} given back")
