"""Tables of results: figures with titles and formats, for terminals, pages and JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

    import pandas as pd

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
        >>> Column("rate", "messages/s", ",d").written(11_418.6)
        '11,419'
        >>> Column("paper", "paper", ".1e").written(None)
        '-'
        >>> Column("paper", "paper", ".1e").written("not given as numbers")
        'not given as numbers'
        """
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return _NOTHING
        if isinstance(value, str):
            return value
        return format(round(value) if self.form.endswith("d") else value, self.form)


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

    @classmethod
    def crossed(
        cls,
        title: str,
        frame: pd.DataFrame,
        rows: Sequence[Column],
        across: str,
        figure: Column,
        note: str = "",
    ) -> Self:
        """Make a table of one figure, with a row a setting and a column a value of another.

        Parameters
        ----------
        title, note
            As for a table.
        frame
            One row per setting and value, such as a stream and a method.
        rows
            Columns that make a setting; they stand first.
        across
            Column whose values have a column each, in the order in which they come.
        figure
            The column that is shown; ``{}`` in its title is the value.
        """
        names = [column.name for column in rows]
        table = frame.pivot_table(figure.name, names, across, sort=False)
        columns = [
            Column(str(value), figure.title.format(value), figure.form)
            for value in dict.fromkeys(frame[across])
        ]
        table.columns = table.columns.map(str)
        return cls(title, [*rows, *columns], table.reset_index(), note)

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
