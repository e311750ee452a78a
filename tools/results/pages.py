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
    """Find the figures of a page.

    Raises
    ------
    FigureError
        A comment names an unknown result or figure.
    """
    for found in _MARKED.finditer(page.read_text("utf-8")):
        name = found["name"]
        if name not in results:
            message = f"{page.name}: there is no result {name}; there are: {', '.join(results)}"
            raise FigureError(message)
        value = figure(results[name].read()["printed"], found["path"])
        wanted = format(value, found["form"])
        yield Figure(page.relative_to(ROOT).as_posix(), found["text"], found["comment"], wanted)


def write(page: Path, results: dict[str, Entry]) -> None:
    """Write the figures of stored results into a page."""
    text = page.read_text("utf-8")
    for each in figures(page, results):
        text = text.replace(each.text + each.comment, each.wanted + each.comment)
    page.write_text(text, "utf-8")
