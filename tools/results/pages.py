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
_TABLE = re.compile(
    r"<!-- table: (?P<name>[\w-]+) (?P<row>\S+)\n(?P<columns>(?:[^\n]+: \S+ \S+\n)+)-->\n\n"
    r"(?P<table>(?:\|[^\n]*\n)+)"
)
MARKS = (_MARKED, _SOURCED, _TABLE)
"""What marks figures: a comment behind each, a comment before a line, a comment before a table."""
_COLUMN = re.compile(r"(?P<heading>.+): (?P<path>\S+) (?P<form>\S+)")
_CELL = re.compile(r"[^|]+")


class Figure(NamedTuple):
    """A figure of a page: its text there, where that begins, and the text of its result.

    `wanted` is None if the result is not stored.
    """

    page: str
    text: str
    start: int
    comment: str
    wanted: str | None


def pages() -> list[Path]:
    """List the pages that users read."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def figures(page: Path, results: dict[str, Entry]) -> Iterator[Figure]:
    """Find the figures of a page, and its lines on where they come from.

    Raises
    ------
    FigureError
        A comment names an unknown result, figure or column.
    """
    text, shown = page.read_text("utf-8"), page.relative_to(ROOT).as_posix()
    for found in _MARKED.finditer(text):
        wanted = _wanted(_entry(page, found["name"], results), found["path"], found["form"])
        yield Figure(shown, found["text"], found.start("text"), found["comment"], wanted)
    for found in _SOURCED.finditer(text):
        entry = _entry(page, found["name"], results)
        wanted = entry.source if entry.is_stored else None
        comment = found["comment"].strip()
        yield Figure(shown, found["text"], found.start("text"), comment, wanted)
    for found in _TABLE.finditer(text):
        entry = _entry(page, found["name"], results)
        for cell, path, form in _cells(page, found):
            start = found.start("table") + cell.start() + len(cell[0]) - len(cell[0].lstrip())
            comment = f"<!-- {entry.name}: {path} {form} -->"
            yield Figure(shown, cell[0].strip(), start, comment, _wanted(entry, path, form))


def _entry(page: Path, name: str, results: dict[str, Entry]) -> Entry:
    if name not in results:
        message = f"{page.name}: there is no result {name}; there are: {', '.join(results)}"
        raise FigureError(message)
    return results[name]


def _wanted(entry: Entry, path: str, form: str) -> str | None:
    return format(figure(entry.read()["printed"], path), form) if entry.is_stored else None


def _cells(page: Path, found: re.Match[str]) -> Iterator[tuple[re.Match[str], str, str]]:
    """Yield the cells of a table that are figures, with the path and format of each.

    The first cell of a row, without quotes and emphasis, replaces the braces in the comment's path.
    """
    lines = [*re.finditer(r"[^\n]+", found["table"])]
    headings = [cell.strip() for cell in lines[0][0].strip("|").split("|")]
    for column in _COLUMN.finditer(found["columns"]):
        if column["heading"] not in headings:
            message = f"{page.name}: the table of {found['name']} has no {column['heading']}"
            raise FigureError(message)
        place = headings.index(column["heading"])
        for line in lines[2:]:
            cells = [*_CELL.finditer(found["table"], line.start(), line.end())]
            row = re.sub("[`*]", "", cells[0][0]).strip().replace(" ", "_")
            yield cells[place], f"{found['row'].format(row)}.{column['path']}", column["form"]


def write(page: Path, results: dict[str, Entry]) -> None:
    """Write the figures of stored results into a page."""
    text = page.read_text("utf-8")
    for each in sorted(figures(page, results), key=lambda figure: figure.start, reverse=True):
        if each.wanted is not None:
            end = each.start + len(each.text)
            text = text[: each.start] + each.wanted + text[end:]
    page.write_text(text, "utf-8")
