"""docs/cost.md as data, for tests that hold it against the template and the code."""

import re
from functools import cache

from tests.template import ROOT

type Row = dict[str, str]


@cache
def tables() -> dict[str, dict[str, Row]]:
    """The rows of each table, by the column that names them, under the heading and the columns of their table."""
    found: dict[str, dict[str, Row]] = {}
    for section in re.split(r"^## ", (ROOT / "docs/cost.md").read_text(), flags=re.MULTILINE)[1:]:
        for text in re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE):
            head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
            heading = section.partition("\n")[0]
            name = heading if heading not in found else f"{heading}, {head[-1]}"
            found[name] = {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}
    return found


def number(cell: str) -> float:
    """The number in a cell; none is 0."""
    return float(cell.replace(",", "") or 0)
