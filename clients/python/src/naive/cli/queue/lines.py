"""A file of messages, line by line and in bounded memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import BinaryIO

import typer

from naive.cli.streams import stdin
from naive.constants import MAX_BODY_BYTES
from naive.models import EntryError

# A line that does not end within this is too large, whatever follows.
_READ = MAX_BODY_BYTES + len(b"\r\n")


@dataclass(frozen=True)
class Line:
    """One line as a message's body, or why it cannot be one; lines count from 1, `size` is in the file's bytes."""

    number: int
    size: int
    body: str
    fault: EntryError | None = None


def open_file(file: str) -> BinaryIO:
    """The file to read, `-` for stdin."""
    if file == "-":
        return stdin()
    try:
        return Path(file).open("rb")
    except OSError as fault:
        raise typer.BadParameter(f"cannot read {file}: {fault.strerror}.") from None


def size_of(stream: BinaryIO) -> int | None:
    """How long the file is, where that is known beforehand."""
    try:
        status = os.fstat(stream.fileno())
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def read_lines(file: BinaryIO) -> Iterator[Line]:
    """The lines that are not empty, without their line ends and otherwise as they are."""
    for number in count(1):
        read = _next_line(file)
        if not read:
            return
        body = read.removesuffix(b"\n").removesuffix(b"\r") if read.endswith(b"\n") else read
        if len(body) > MAX_BODY_BYTES:
            fault = EntryError(code="payload_too_large", message=f"The line is over {MAX_BODY_BYTES:,} bytes.")
            yield Line(number, len(read) + _skip_rest(file, read), "", fault)
        elif body:
            yield _decoded(number, len(read), body)


def _next_line(file: BinaryIO) -> bytes:
    try:
        return file.readline(_READ)
    except OSError as fault:
        raise OSError(fault.errno, fault.strerror, file.name) from None


def _skip_rest(file: BinaryIO, read: bytes) -> int:
    skipped = 0
    while read and not read.endswith(b"\n"):
        read = _next_line(file)
        skipped += len(read)
    return skipped


def _decoded(number: int, size: int, body: bytes) -> Line:
    try:
        return Line(number, size, body.decode())
    except UnicodeDecodeError as fault:
        message = f"The line is not UTF-8 at byte {fault.start}."
        return Line(number, size, "", EntryError(code="invalid_input", message=message))
