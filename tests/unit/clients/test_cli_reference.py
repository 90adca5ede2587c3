"""The reference in docs is what the commands say of themselves."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[3]


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cli_reference", ROOT / "clients/python/scripts/cli_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_has_not_drifted_from_the_help() -> None:
    expected: str = script().reference()
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == expected, "run `make docs`"


def test_every_command_has_an_example() -> None:
    sections: list[str] = script().reference().split("\n## naive ")[1:]
    groups = [section for section in sections if "\nCommands:\n" in section]
    commands = [section for section in sections if section not in groups]
    assert len(commands) == 38
    assert [section.splitlines()[0] for section in commands if "Example" not in section] == []
