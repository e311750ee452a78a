"""The figures of pages: found by their comments, compared with stored results, and written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tools.results.stored import ROOT, Entry, FigureError, figure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MARKED = re.compile(
    r"(?P<text>[\d.,]+)(?P<comment><!-- (?P<name>[\w-]+): (?P<path>\S+) (?P<form>\S+) -->)"
)
_SOURCED = re.compile(r"(?P<comment><!-- source: (?P<name>[\w-]+) -->\n)(?P<text>[^\n]*)")


class Figure(NamedTuple):
    """A figure of a page: its text there, and the text that its result gives."""

    page: str
    text: str
    comment: str
    wanted: str


def pages() -> list[Path]:
    """List the pages that users read."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def figures(page: Path, results: dict[str, Entry]) -> Iterator[Figure]:
    """Find the figures of a page, and its lines on where they come from.

    Raises
    ------
    FigureError
        A comment names an unknown result or figure.
    """
    text, shown = page.read_text("utf-8"), page.relative_to(ROOT).as_posix()
    for found in _MARKED.finditer(text):
        stored = _entry(page, found["name"], results).read()
        wanted = format(figure(stored["printed"], found["path"]), found["form"])
        yield Figure(shown, found["text"], found["comment"], wanted)
    for found in _SOURCED.finditer(text):
        wanted = _entry(page, found["name"], results).source
        yield Figure(shown, found["text"], found["comment"], wanted)


def _entry(page: Path, name: str, results: dict[str, Entry]) -> Entry:
    if name not in results:
        message = f"{page.name}: there is no result {name}; there are: {', '.join(results)}"
        raise FigureError(message)
    return results[name]


def write(page: Path, results: dict[str, Entry]) -> None:
    """Write the figures of stored results into a page."""
    text = page.read_text("utf-8")
    for each in figures(page, results):
        if each.comment.endswith("\n"):
            text = text.replace(each.comment + each.text, each.comment + each.wanted)
        else:
            text = text.replace(each.text + each.comment, each.wanted + each.comment)
    page.write_text(text, "utf-8")
