"""Runs a snippet of a document, with what it leaves to its reader.

python tests/e2e/reader.py FILE
"""

from __future__ import annotations

import os
import runpy
import sys


def main(snippet: str) -> None:
    """Run it as it stands."""
    left_to_reader = {
        "queue_id": os.environ["NAIVE_QUEUE_ID"],
        "hook_url": "http://127.0.0.1:9/hook",
        "secret": "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0IQ==",
        "is_ready": is_ready,
        "work_on": work_on,
        "start_worker": start_worker,
    }
    runpy.run_path(snippet, init_globals=left_to_reader, run_name="__main__")


def is_ready(job: str) -> bool:
    return "not yet" not in job


def work_on(job: str) -> None:
    print("worked on", job)


def start_worker(key: str) -> None:
    print("a key of", len(key))


if __name__ == "__main__":
    main(sys.argv[1])
