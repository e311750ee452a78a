"""What a chart shows along its axes, and how it is divided into panels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd


@dataclass(frozen=True)
class Axis:
    """A column of the frame on an axis.

    Parameters
    ----------
    column
        Its name.
    title
        What stands beside the axis, with the unit.
    scale
        ``category`` sets the values side by side at equal distances.
    """

    column: str
    title: str
    scale: Literal["linear", "log", "category"] = "linear"

    def values(self, rows: pd.DataFrame) -> list[Any]:
        """Give the values as they are drawn: those of a category as text."""
        column = rows[self.column]
        values: list[Any] = (column.astype(str) if self.scale == "category" else column).tolist()
        return values

    def options(self, frame: pd.DataFrame) -> dict[str, Any]:
        """Give Plotly's options of the axis: its range is that of all rows, in every panel."""
        if self.scale == "category":
            values = list(dict.fromkeys(self.values(frame)))
            return {"type": "category", "categoryorder": "array", "categoryarray": values}
        if self.scale == "linear":
            return {}
        # Whole decades, the same in all panels, so that panels can be compared.
        low, high = (math.log10(each(frame[self.column])) for each in (min, max))
        return {
            "type": "log",
            "range": [math.floor(low), math.ceil(high)],
            "exponentformat": "power",
            "dtick": 1,
            "minor": {"dtick": "D1", "ticks": "outside"},
        }


@dataclass(frozen=True)
class Grid:
    """How a frame is divided into panels.

    Parameters
    ----------
    column
        A panel for each of its values, in the order in which they come.
    title
        Title of a panel; ``{}`` is the value.
    width
        Panels side by side.
    """

    column: str
    title: str = "{}"
    width: int = 2

    def parts(self, frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
        """Divide a frame: the title of each panel, and its rows."""
        for value in dict.fromkeys(frame[self.column]):
            yield self.title.format(value), frame[frame[self.column] == value]
