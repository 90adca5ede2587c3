"""Runs the emulator, with what it lacks mended where that can be done nowhere else.

A script of its own, since the emulator has an interpreter of its own.
"""

import asyncio
import hashlib
import json
import tempfile
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# The environment that the types are checked in does not have it.
from ministack.app import main  # type: ignore[import-not-found]
from ministack.core import lambda_runtime  # type: ignore[import-not-found]
from ministack.services import cloudwatch_logs  # type: ignore[import-not-found]

_PAGE = 5000
"""Lines an answer at most: the emulator itself gives twice as many."""

_unpacking = threading.Lock()
_all_log_events = cloudwatch_logs._filter_log_events


class Archive(zipfile.ZipFile):
    """The code of a function, or a layer: unpacked once, and compiled once, for all environments that run it.

    The emulator unpacks all of it anew for each environment, which then compiles what it imports: seconds of work.
    """

    def namelist(self) -> list[str]:
        """Nothing: the emulator would look where each name leads. Unpacking itself goes nowhere else."""
        return []

    def extractall(self, path: Any = None, members: Any = None, pwd: bytes | None = None) -> None:
        """Leave a link at the path, which is an empty folder, to the one place where this content is unpacked."""
        with Path(str(self.filename)).open("rb") as file:
            folder = Path(tempfile.gettempdir(), "unpacked", hashlib.file_digest(file, "sha256").hexdigest())
        with _unpacking:
            if not folder.exists():
                unfinished = folder.with_suffix(".unfinished")
                super().extractall(unfinished, super().namelist(), pwd)
                unfinished.rename(folder)
        Path(path).rmdir()
        Path(path).symlink_to(folder)


async def wait_for_nobody(self: asyncio.Server) -> None:
    """In place of waiting for every connection that is open when the emulator is told to stop.

    Its web server gives open requests three seconds, and only then saves the state. But from Python 3.12 on, closing
    the socket first waits for each long poll that nobody waits for any more.
    """


def filter_log_events(asked: dict[str, Any]) -> Any:
    """As on AWS, the lines of the streams that have the prefix, and a token where there are more of them.

    The token is when the last line was written, and how many of that time were given.
    """
    since, _, given = asked.get("nextToken", f"{asked.get('startTime', 0)}:0").partition(":")
    streams = cloudwatch_logs._log_groups.get(cloudwatch_logs._resolve_log_group_name(asked), {}).get("streams", {})
    prefix = asked.get("logStreamNamePrefix", "")
    names = asked.get("logStreamNames") or [name for name in streams if name.startswith(prefix)]
    limit = min(asked.get("limit", _PAGE), _PAGE)
    # Of no names, the emulator would take all.
    narrowed = {"logStreamNames": names or [""], "startTime": int(since), "limit": int(given) + limit + 1}
    status, headers, body = _all_log_events({**asked, **narrowed})
    if status != 200:
        return status, headers, body
    events = json.loads(body)["events"][int(given) :]
    answer = {"events": events[:limit], "searchedLogStreams": []}
    if len(events) > limit:
        last = events[limit - 1]["timestamp"]
        same = sum(event["timestamp"] == last for event in events[:limit])
        answer["nextToken"] = f"{last}:{same + (int(given) if last == int(since) else 0)}"
    return status, headers, json.dumps(answer).encode()


if __name__ == "__main__":
    asyncio.Server.wait_closed = wait_for_nobody  # type: ignore[method-assign]  # that is the point
    cloudwatch_logs._filter_log_events = filter_log_events
    lambda_runtime.zipfile = SimpleNamespace(**{**vars(zipfile), "ZipFile": Archive})
    main()
