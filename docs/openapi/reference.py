"""The words of docs/http-api.md, so that the description of the API and the reference say the same."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REFERENCE = Path(__file__).parents[1] / "http-api.md"

_ROUTE = re.compile(r"^`([A-Z]+ /\S*)`$", re.MULTILINE)
# Examples, with the sentence that leads to one.
_LINK = r"\[([^\]]+)\]\([^)]+\)"
# A link that a sentence or a pair of brackets is there for; it leads nowhere from elsewhere.
_MERE_LINK = re.compile(rf"\s*\((?:see\s)?{_LINK}\)|\s*(?<=[.\s])(?:See\s)?{_LINK}\.$", re.MULTILINE)
_EXAMPLE = re.compile(r"(?:^(?:[^\n|`]+\n)*[^\n|`]+:\n\n)?^```\w*\n.*?^```\n", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Chapter:
    """A `##` heading of the reference, what stands below it, and its routes, each with what is said of it."""

    name: str
    text: str
    routes: dict[str, str]


def rows(text: str) -> dict[str, str]:
    """What the tables of a text say in the end about each field."""
    return dict(re.findall(r"^\| `([\w-]+)` \|.*\| (.*?) \|$", text, re.MULTILINE))


@cache
def chapters() -> dict[str, Chapter]:
    """The chapters by name."""
    _, *parts = re.split(r"^## ", REFERENCE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {chapter.name: chapter for chapter in map(_chapter, parts)}


def _chapter(part: str) -> Chapter:
    name, _, text = part.partition("\n")
    pieces = _ROUTE.split(text)
    routes = {route: _prose(_up_to_heading(said)) for route, said in zip(pieces[1::2], pieces[2::2], strict=True)}
    return Chapter(name, _prose(_up_to_heading(pieces[0]) if routes else pieces[0]), routes)


def _up_to_heading(text: str) -> str:
    return re.split(r"^#", text, maxsplit=1, flags=re.MULTILINE)[0]


def _prose(text: str) -> str:
    """The text without its examples, and with links as plain words."""
    text = _MERE_LINK.sub("", _EXAMPLE.sub("", text))
    return re.sub(r"\n{3,}", "\n\n", re.sub(_LINK, r"\1", text)).strip()
