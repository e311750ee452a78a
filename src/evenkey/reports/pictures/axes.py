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
    """An axis, which shows one column of a data frame.

    Parameters
    ----------
    column
        Name of the column.
    title
        Text beside the axis, with the unit.
    scale
        Scale of the axis. ``category`` draws the distinct values at equal distances.
    """

    column: str
    title: str
    scale: Literal["linear", "log", "category"] = "linear"

    def values(self, rows: pd.DataFrame) -> list[Any]:
        """Return the values to draw; the values of a ``category`` axis become text."""
        column = rows[self.column]
        values: list[Any] = (column.astype(str) if self.scale == "category" else column).tolist()
        return values

    def options(self, frame: pd.DataFrame) -> dict[str, Any]:
        """Return Plotly's options for the axis; the range covers all rows, in every panel."""
        if self.scale == "category":
            values = list(dict.fromkeys(self.values(frame)))
            return {"type": "category", "categoryorder": "array", "categoryarray": values}
        if self.scale == "linear":
            return {}
        # The range consists of whole decades. It is the same in all panels, so that panels can be
        # compared.
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
    """How a data frame is divided into panels.

    Parameters
    ----------
    column
        Column that divides the frame: each distinct value gets a panel, in order of appearance.
    title
        Title of a panel; ``{}`` stands for the value.
    width
        Number of panels side by side.
    """

    column: str
    title: str = "{}"
    width: int = 2

    def parts(self, frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield the title and the rows of each panel."""
        for value in dict.fromkeys(frame[self.column]):
            yield self.title.format(value), frame[frame[self.column] == value]
