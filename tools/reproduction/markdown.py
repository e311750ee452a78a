"""Write text and tables as Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["plain", "table"]


def plain(text: str) -> str:
    r"""Escape characters that Markdown would interpret.

    Examples
    --------
    >>> plain("*exactly two*")
    '\\*exactly two\\*'
    """
    return re.sub(r"([\\*_`\[\]])", r"\\\1", text).replace("<", "&lt;")


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table, with an empty line after it."""
    lines = [f"| {' | '.join(map(_cell, titles))} |", "|" + "---|" * len(titles)]
    return [*lines, *(f"| {' | '.join(map(_cell, row))} |" for row in rows), ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
