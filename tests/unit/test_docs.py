"""The documents agree with what they speak of."""

import importlib
import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from naive.cli.app import app
from tests.template import ROOT, routes, template

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("clients/*/README.md")])
HTTP_API = ROOT / "docs/http-api.md"
USERS = "/users/{user_id}/"
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
OPERATIONS = {
    f"{verb} {path}": folder for (verb, path), folder in routes().items() if path != "*" and USERS not in path
}

documents = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
operations = pytest.mark.parametrize("route", OPERATIONS)


def prose(document: Path) -> str:
    """A document without its code blocks."""
    return FENCE.sub("", document.read_text())


def code(document: Path) -> Iterator[str]:
    """What a reader may type: the lines of shell blocks, and what stands between backticks."""
    for language, block in FENCE.findall(document.read_text()):
        if language in ("sh", "console"):
            yield from block.splitlines()
    yield from re.findall(r"`([^`\n]+)`", prose(document))


def anchors(document: Path) -> set[str]:
    """What a link into the document may end with, as GitHub makes it from the headings."""
    headings = re.findall(r"^#+ (.+)$", prose(document), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def sections() -> dict[str, str]:
    """The operations in the reference, by the line that names the route, each up to the next heading."""
    parts = re.split(r"^`((?:GET|POST|PATCH|DELETE) /\S*)`$", HTTP_API.read_text(), flags=re.MULTILINE)
    return {route: text.partition("\n#")[0] for route, text in zip(parts[1::2], parts[2::2], strict=True)}


def commands(document: Path) -> Iterator[list[str]]:
    """The calls of `naive` that a document shows, as words."""
    for line in code(document):
        if re.search(r"\bnaive [a-z]", line):
            words = list(shlex.shlex(line, posix=True, punctuation_chars=True))
            for start in [place for place, word in enumerate(words) if word == "naive"]:
                yield list(takewhile(lambda word: not set(word) <= set("();<>|&"), words[start + 1 :]))


def fields(schema: Any) -> Iterator[tuple[str, set[tuple[int, int]]]]:
    """The fields of a model, each with the ranges of the whole numbers in it."""
    for name, field in schema["properties"].items():
        yield name, set(_ranges(field))


def _ranges(field: Any) -> Iterator[tuple[int, int]]:
    if "minimum" in field:
        yield field["minimum"], field["maximum"]
    assert "$ref" not in field
    inside = [*field.get("anyOf", []), *([field["items"]] if "items" in field else [])]
    for inner in [*inside, *field.get("properties", {}).values()]:
        yield from _ranges(inner)


def input_of(folder: str) -> Any:
    """The schema of an operation's input."""
    operation = importlib.import_module(f"functions.{folder}.app").handler.operation
    model = operation.body or operation.query
    return model.model_json_schema() if model else {"properties": {}}


def test_the_readme_can_be_read_in_one_go() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 150


@documents
def test_every_link_inside_the_repository_leads_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(document)):
        if not target.startswith("https://"):
            path, _, anchor = target.partition("#")
            linked = document.parent / path if path else document
            assert linked.exists(), f"{target} is not there"
            assert not anchor or anchor in anchors(linked), f"{target} names no heading"


def test_the_reference_has_every_operation_and_no_other() -> None:
    assert sections().keys() == OPERATIONS.keys()


def test_every_operation_on_queues_and_services_is_on_both_mounts_as_the_reference_says() -> None:
    twins = {(verb, path.replace(USERS, "/")) for verb, path in routes() if USERS in path}
    assert twins == {(verb, path) for verb, path in routes() if path.startswith(("/v1/queue", "/v1/compute"))}
    assert all(f"`/v1{USERS}{mount}`" in HTTP_API.read_text() for mount in ("queue", "compute"))


@operations
def test_the_reference_has_every_field_of_an_operation_with_its_range(route: str) -> None:
    rows = [row for row in sections()[route].splitlines() if row.startswith("| `")]
    for name, ranges in fields(input_of(OPERATIONS[route])):
        row = [row for row in rows if f"`{name}`" in row.split("|")[1]]
        assert len(row) == 1, f"{name} has no row of its own"
        assert all(f"{low}–{high}" in row[0] for low, high in ranges), f"{name} is {ranges}, not as in {row[0]}"  # noqa: RUF001


@documents
def test_every_make_target_exists(document: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {name for line in code(document) for name in re.findall(r"(?:^|[ $(])make (?:-s )?([a-z][a-z-]*)", line)}
    assert named <= targets


@documents
def test_every_command_exists_and_takes_the_options_it_is_shown_with(document: Path) -> None:
    for words in commands(document):
        command: Any = typer.main.get_command(app)
        while isinstance(command, TyperGroup) and words:
            assert words[0] in command.commands, f"there is no naive {words[0]}"
            command = command.commands[words.pop(0)]
        known = {option for parameter in command.params for option in parameter.opts} | {"--help", "--"}
        assert {word for word in words if word.startswith("--")} <= known, f"naive {command.name} {words}"


def test_every_parameter_and_output_of_the_template_is_explained() -> None:
    text = (ROOT / "docs/operating.md").read_text()
    for name, parameter in template()["Parameters"].items():
        assert re.search(rf"^\| `{name}` \| `?{parameter['Default']}`? \|", text, re.MULTILINE), name
    assert all(f"`{name}`" in text for name in template()["Outputs"])
