"""Tables of results: figures with titles and formats, for terminals, pages and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["Column", "Table"]

_NOTHING = "-"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    name
        Column of the data frame, and the name in JSON.
    title
        What stands above it, with its unit.
    form
        How `format` is to write its numbers; empty for text.
    """

    name: str
    title: str
    form: str = ""

    def written(self, value: Any) -> str:
        """Write a value.

        Examples
        --------
        >>> Column("messages", "messages", ",d").written(22_000_000)
        '22,000,000'
        >>> Column("paper", "paper", ".1e").written(None)
        '-'
        >>> Column("paper", "paper", ".1e").written("not given as numbers")
        'not given as numbers'
        """
        if value is None or (isinstance(value, float) and pd.isna(value)):
            return _NOTHING
        if isinstance(value, str):
            return value
        return format(int(value) if self.form.endswith("d") else value, self.form)


@dataclass(frozen=True)
class Table:
    """A table of results.

    Parameters
    ----------
    title
        What it shows.
    columns
        Its columns, in order.
    frame
        Its rows; other columns of the frame are not shown.
    note
        What stands below it.
    """

    title: str
    columns: Sequence[Column]
    frame: pd.DataFrame
    note: str = ""

    def rows(self) -> list[dict[str, Any]]:
        """Give the rows as JSON can hold them."""
        names = [column.name for column in self.columns]
        chosen = self.frame[names].astype(object)
        rows: list[dict[str, Any]] = chosen.where(chosen.notna(), None).to_dict("records")
        return rows

    def cells(self) -> list[list[str]]:
        """Give the rows as they are to be shown."""
        rows = self.rows()
        return [[column.written(row[column.name]) for column in self.columns] for row in rows]
