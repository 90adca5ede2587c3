"""A worker on a terminal: counters in their place, and above them what its commands write."""

from __future__ import annotations

import os
from collections.abc import Mapping
from threading import Thread

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from naive.cli.rows import fields, table
from naive.cli.words import harmless
from naive.consumer.stop import Stop


class Screen:
    """Shows counters that change."""

    def __init__(self, queue: str, counts: Mapping[str, int], stop: Stop) -> None:
        self._queue = queue
        self._counts = counts
        self._stop = stop
        self._console = Console()
        self._live = Live(console=self._console, get_renderable=self._draw)
        self._written, self.output = os.pipe()
        """The end of a pipe that commands write to: one that wrote to the terminal would disturb the counters."""

    def begin(self) -> None:
        self._live.start()
        Thread(target=self._show_written, name="naive-screen", daemon=True).start()

    def end(self) -> None:
        self._live.stop()

    def _draw(self) -> Group:
        ends = "Ctrl-C gives back at once" if self._stop.requested else "Ctrl-C drains"
        title = f"{harmless(self._queue)}, {ends}"
        return Group(Text(title), table([self._counts], self._console.width) or fields(self._counts))

    def _show_written(self) -> None:
        with os.fdopen(self._written, "rb") as lines:
            for line in lines:
                self._console.print(Text(harmless(line.decode(errors="replace").rstrip("\r\n"))), soft_wrap=True)
