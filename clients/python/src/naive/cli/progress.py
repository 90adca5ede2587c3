"""A progress bar on stderr, which is not there when nobody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def progress(doing: str, total: int | None, shown: bool) -> Iterator[Callable[[int, str], None]]:
    """A bar for as long as the block runs, and the function that moves it on and says how far things are."""
    console = Console(stderr=True)
    if not (shown and console.is_terminal):
        yield lambda steps, so_far: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(doing, total=total)

        def advance(steps: int, so_far: str) -> None:
            bar.update(task, advance=steps, description=so_far)

        yield advance
