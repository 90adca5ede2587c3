"""The standard streams, each of which may be closed, broken, full, or unable to hold a character."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import typer

from naive.cli.words import say


@contextmanager
def prepared() -> Iterator[None]:
    """Make the streams fit for a command, and leave nothing to them that could fail once it has ended."""
    if sys.stderr is None:
        sys.stderr = io.StringIO()  # or `print` would take stdout for it
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for stream in filter(None, (sys.__stdout__, sys.__stderr__)):
            try:
                stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def writing() -> Iterator[None]:
    """Print an answer in this block: if that fails, the call behind it has worked all the same."""
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed")
        yield
    except BrokenPipeError:
        raise
    except OSError as fault:
        say(f"Error: The call succeeded, but its answer could not be written to stdout: {fault.strerror}.")
        raise typer.Exit(1) from None


def stdin() -> BinaryIO:
    """Stdin as bytes."""
    if sys.stdin is None:
        raise typer.BadParameter("stdin is closed.")
    return sys.stdin.buffer


def text_of_stdin() -> str:
    """All of stdin as UTF-8, without a change."""
    try:
        return stdin().read().decode()
    except UnicodeDecodeError as fault:
        raise typer.BadParameter(f"stdin is not UTF-8 at byte {fault.start}.") from None
    except OSError as fault:
        raise typer.BadParameter(f"cannot read stdin: {fault.strerror}.") from None
