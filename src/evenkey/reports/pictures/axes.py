"""What a chart shows along its axes, and how it is divided into panels."""

from __future__ import annotations

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

    def categories(self, frame: pd.DataFrame) -> list[str]:
        """Return the distinct values of a ``category`` axis, in order of appearance."""
        return list(dict.fromkeys(self.values(frame)))

    def places(self, rows: pd.DataFrame, frame: pd.DataFrame) -> list[float]:
        """Return the positions of `rows`, which are a part of `frame`, along the axis."""
        values = self.values(rows)
        if self.scale != "category":
            return values
        order = {value: place for place, value in enumerate(self.categories(frame))}
        return [float(order[value]) for value in values]


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
    shared
        Whether a linear y axis has the same range in all panels, so that they can be compared. A
        logarithmic one always has.
    """

    column: str
    title: str = "{}"
    width: int = 2
    shared: bool = False

    def parts(self, frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield the title and the rows of each panel."""
        for value in dict.fromkeys(frame[self.column]):
            yield self.title.format(value), frame[frame[self.column] == value]
