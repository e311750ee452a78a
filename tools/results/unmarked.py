"""Find measured figures in pages that no result checks, because nothing marks them.

A sentence has such a figure if it names a metric and a decimal number, or a speed, and states
neither a limit ("at most", "below 2") nor what a paper says. A table has one if a column whose
heading names a metric has a number. Numbers in code and outputs are left out: tests run code, and
compare outputs with what the code prints.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.results.pages import MARKS, pages
from tools.results.stored import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NOTES = ("measurements.md", "reproduction.md", "figures.md")
"""Pages for contributors, and pages that are generated."""
_LEFT_OUT = re.compile(r"^```.*?^```|(?<=\])\([^)]*\)|<!--.*?-->", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`]+`")
_METRIC = re.compile(
    r"max/mean|DistCost|MLDC|StdDev|I/m|throughput|latency|makespan|accuracy|speedup|faster|slower|"
    r"took|takes|measured|/s\b|(?:per|a) second|, m?s$|\bms$|seconds$",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"at most|at least|more than|less than|fewer than|up to|from .* to|paper|published|"
    r"\b(?:below|above|under|within) \d",
    re.IGNORECASE,
)
_DECIMAL = re.compile(r"(?<![\w.])\d[\d,]*\.\d+(?!\w|\.\d)")
_SPEED = re.compile(
    r"\d[\d,.]*x (?:faster|slower|as)|\d[\d,.]* (?:messages|rows|records)(?:/s| (?:per|a) second)"
)
_NUMBER = re.compile(r"\d")


def unmarked() -> list[str]:
    """List figures of readers' pages that look measured and are not marked."""
    return [
        f"{page.relative_to(ROOT)}: is this figure measured? Mark it (tools/results): {passage}"
        for page in pages()
        if page.name not in _NOTES
        for passage in passages(page)
    ]


def passages(page: Path) -> Iterator[str]:
    """Yield the sentences and the rows of tables that have an unmarked figure."""
    text = page.read_text("utf-8")
    for mark in MARKS:
        text = mark.sub("", text)
    text = _CODE.sub(lambda code: re.sub(r"\d|[.:;!?] ", "", code[0]), _LEFT_OUT.sub("", text))
    for block in re.split(r"\n\s*\n", text):
        if block.lstrip().startswith("|"):
            yield from _rows(block)
        else:
            yield from _sentences(block)


def _sentences(block: str) -> Iterator[str]:
    for sentence in re.split(r"(?<=[.:;!?]) ", " ".join(block.split())):
        named = _METRIC.search(sentence) and _DECIMAL.search(sentence)
        if (named or _SPEED.search(sentence)) and not _LIMIT.search(sentence):
            yield sentence


def _rows(block: str) -> Iterator[str]:
    rows = [[cell.strip() for cell in line.split("|")] for line in block.strip().splitlines()]
    metrics = [place for place, heading in enumerate(rows[0]) if _METRIC.search(heading)]
    for row in rows[2:]:
        if any(_NUMBER.search(row[place]) for place in metrics if place < len(row)):
            yield " | ".join(filter(None, row))
