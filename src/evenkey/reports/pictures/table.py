"""Tables of results, for terminals, pages and JSON."""

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
        Name of the column in the data frame and in JSON.
    title
        Heading of the column, with the unit.
    form
        Format specification of the column's numbers, such as ``,d``; empty for text.
    """

    name: str
    title: str
    form: str = ""

    def written(self, value: Any) -> str:
        """Format a value of the column; None and NaN become ``-``.

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
        Title of the table.
    columns
        The columns, in order.
    frame
        The rows. Columns of the frame that are not in `columns` are not shown.
    note
        Text below the table.
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
        """Make a pivot table: one column of the frame fills the cells, another the headings.

        Parameters
        ----------
        title, note
            Title of the table, and the text below it.
        frame
            One row per cell, such as one row per stream and method.
        rows
            Columns whose values identify a row of the table; these columns come first.
        across
            Column whose distinct values each become a column of the table, in order of appearance.
        figure
            Column that the cells show; ``{}`` in its title stands for the value of `across`.
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
        """Return the rows as values that JSON can represent; missing values become None."""
        names = [column.name for column in self.columns]
        chosen = self.frame[names].astype(object)
        rows: list[dict[str, Any]] = chosen.where(chosen.notna(), None).to_dict("records")
        return rows

    def cells(self) -> list[list[str]]:
        """Return the rows as formatted text."""
        rows = self.rows()
        return [[column.written(row[column.name]) for column in self.columns] for row in rows]
