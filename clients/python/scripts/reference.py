"""Write the reference of the library from its docstrings, as HTML.

python clients/python/scripts/reference.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import pdoc

import naive

FOLDER = Path(__file__).parents[1] / "reference"

# What a program imports from, and what a client has the calls in.
MODULES = [
    "naive",
    "naive.webhooks",
    "naive.otel",
    *(f"naive.{kind}.{noun}" for kind in ("blocking", "aio") for noun in ("queues", "consumers", "compute")),
    *(f"naive.{kind}.{noun}" for kind in ("blocking", "aio") for noun in ("users", "keys")),
]


def write(folder: Path) -> None:
    """Write a page for each module, and one to begin with."""
    for name in naive.__all__:
        setattr(naive, name, getattr(naive, name))  # pdoc sees only what is loaded
    pdoc.render.configure(docformat="markdown", show_source=False, footer_text=f"naive-queue {naive.__version__}")
    pdoc.pdoc(*MODULES, output_directory=folder)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
