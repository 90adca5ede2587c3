"""Rows of fields, in the shape that the terminal has room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

from rich import box
from rich.table import Table
from rich.text import Text

from naive.cli.words import harmless

Row = Mapping[str, object]

_AROUND_A_COLUMN = 3
_AROUND_A_TABLE = 1


def table(rows: Sequence[Row], room: int, spare: Sequence[str] = (), **least: int) -> Table | None:
    """The rows as a table, or None where there is no room for one that loses nothing that matters.

    The columns of `spare` are left out, the first one first, until the rest has room. No column is folded, except
    those of `least`, and they not below that width.
    """
    cells = {name: [_cell(row[name]) for row in rows] for name in rows[0]}
    needed = {name: min(_width(name, column), least.get(name, room)) for name, column in cells.items()}
    for spared in range(len(spare) + 1):
        kept = [name for name in cells if name not in spare[:spared]]
        if sum(needed[name] + _AROUND_A_COLUMN for name in kept) + _AROUND_A_TABLE <= room:
            return _drawn({name: cells[name] for name in kept}, least)
    return None


def fields(row: Row) -> Text:
    """The row as a list of fields; a value of several lines is indented, so that none of them looks like a field."""
    cells = {harmless(name): _cell(value) for name, value in row.items()}
    width = max(map(len, cells))
    indented = Text("\n" + " " * (width + 2))
    lines = (
        Text.assemble((f"{name:<{width}}  ", "bold"), indented.join(cell.split("\n", allow_blank=True)))
        for name, cell in cells.items()
    )
    return Text("\n").join(lines)


def _width(name: str, column: Sequence[Text]) -> int:
    return max(len(name), *(cell.cell_len for cell in column))


def _drawn(cells: Mapping[str, Sequence[Text]], foldable: Mapping[str, int]) -> Table:
    drawn = Table(box=box.SIMPLE_HEAD)
    for name in cells:
        drawn.add_column(name, no_wrap=name not in foldable, overflow="fold")
    for row in zip(*cells.values(), strict=True):
        drawn.add_row(*row)
    return drawn


def _cell(value: object) -> Text:
    return value if isinstance(value, Text) else Text(_shown(value))


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        known = ((name, field) for name, field in value.items() if field is not None)
        return "\n".join(f"{harmless(str(name))}: {_shown(field)}" for name, field in known)
    if isinstance(value, datetime):
        return f"{value.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    return harmless(str(value))
