"""Every public name says what it is, and is in the reference that is made of that."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import naive
from tests.unit.clients.shared_cases import TABLE

SCRIPT = Path(__file__).parents[3] / "clients/python/scripts/reference.py"
MODULES = ["naive.webhooks", "naive.otel"] + [
    f"naive.{kind}.{noun}"
    for kind in ("blocking", "aio")
    for noun in ("queues", "consumers", "compute", "users", "keys")
]


def public() -> Iterator[tuple[str, Any]]:
    """The classes and functions that a program sees, with the methods and properties of each."""
    things = [(f"naive.{name}", getattr(naive, name)) for name in naive.__all__]
    for module in map(importlib.import_module, MODULES):
        things += [
            (f"{module.__name__}.{name}", thing)
            for name, thing in vars(module).items()
            if getattr(thing, "__module__", None) == module.__name__ and not name.startswith("_")
        ]
    for name, thing in things:
        if inspect.isclass(thing) or inspect.isfunction(thing):
            yield name, thing
        for member, value in vars(thing).items() if inspect.isclass(thing) else ():
            if not member.startswith(("_", "model_")) and (inspect.isfunction(value) or isinstance(value, property)):
                yield f"{name}.{member}", value


PUBLIC = dict(public())


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_says_what_it_is(name: str) -> None:
    words = (PUBLIC[name].__doc__ or "").strip()
    assert words
    assert not words.startswith(f"{name.rpartition('.')[2]}("), "this is what a dataclass says by itself"


def test_the_calls_that_every_client_has_are_among_them() -> None:
    homes = {"queue": "queues", "queue.consumer": "consumers"}
    for noun, calls in TABLE["surface"].items():
        for call in calls if noun else ():
            found = [name for name in PUBLIC if name.endswith(f".{call}") and f".{homes.get(noun, noun)}." in name]
            assert len(found) == 2, f"{noun}.{call} is in {found}"


def test_the_reference_has_every_one_of_them(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=True)
    assert ended.stdout + ended.stderr == ""
    pages = {page: page.read_text(encoding="utf-8") for page in tmp_path.rglob("*.html")}
    for name in PUBLIC:
        module = next(module for module in (*MODULES, "naive") if name.startswith(f"{module}."))
        page = pages[tmp_path / f"{module.replace('.', '/')}.html"]
        assert f'id="{name.removeprefix(f"{module}.")}"' in page, name
