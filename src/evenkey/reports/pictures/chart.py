"""Charts of data frames, declared before there is data: lines or bars, in panels."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from evenkey.reports.pictures.drawing import matplotlib, svg
from evenkey.reports.pictures.theme import THEMES, places_of
from evenkey.reports.pictures.ticks import fit, height_of_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenkey.reports.pictures.axes import Axis, Grid

WHOSE = "whose"
"""Column with the name of each value's source, if `Chart.beside` draws several columns."""

_LIGHT = THEMES["light"]
_SYMBOLS = "osD^XP*v<>phd"
_DASHES = ("-", ":", "--", "-.")
_PANEL_PIXELS = 250
_LEAST_PANEL_PIXELS = 320
_LABEL_PIXELS = 70
_CHARACTER_PIXELS = 8
_CHARACTERS_BESIDE_PANEL = 26
_LEGEND_LINE_PIXELS = 22
_LEGEND_MARK_PIXELS = 60
_MANY_POINTS = 40
_BAR_PIXELS, _GAP_PIXELS = 10, 8
_ABOVE = 1.05
_MOST_NAMED = 4
"""Maximum number of groups of coinciding lines that a note names."""
_LAYER_PIXELS, _MOST_LAYERS_PIXELS = 3, 10
"""By how many pixels a line is wider than the line that covers it, and than the topmost line."""
_NEAR = 0.01
"""Two points coincide if they are not further apart than this part of the axis."""
_COMMON = 0.5
"""Two lines coincide if they share more than this part of the points of the one with fewer."""


@dataclass(frozen=True)
class Plot:
    """An image of data, with a title above it and a note below it.

    Parameters
    ----------
    title
        Title of the image.
    fill
        Function that draws on an empty figure of a width in CSS pixels.
    height
        Function that returns the height for a width, both in CSS pixels.
    note
        Text below the image.
    """

    title: str
    fill: Callable[[Figure, int], None]
    height: Callable[[int], int]
    note: str = ""

    def draw(self, width: int, name: str) -> str:
        """Draw the image as an SVG element; no two images of a page have the same name."""
        size = width, self.height(width)
        return svg(self.title, name, size, lambda figure: self.fill(figure, width))


@dataclass(frozen=True)
class Chart:
    """A chart of a data frame that has one row per point.

    Parameters
    ----------
    title
        Text above the plot.
    x, y
        The axes. A logarithmic axis leaves out values that are not above 0.
    group
        Column whose distinct values each get a colour. A grouping has the same colour in all
        charts, see `places_of`.
    legend
        Title of the legend. Empty: the name of the `group` column.
    panels
        How to divide the chart into panels. None: one panel.
    dash
        Column whose distinct values each get a line style. None: all lines are solid.
    kind
        Lines with a mark at each point, or bars side by side.
    sideways
        Whether bars lie, below each other; for many categories with long names.
    baseline
        Column with the value of a dashed horizontal line in each panel, such as a mean. The name of
        the column stands in the legend. None: no line.
    beside
        Several columns to draw on the `y` axis, by the name of their source, such as
        ``{"ours": "share", "paper": "paper_share"}``; `group` or `dash` must then be ``whose``.
        None: only the column of `y` is drawn.
    note
        Text below the plot.
    """

    title: str
    x: Axis
    y: Axis
    group: str = WHOSE
    legend: str = ""
    panels: Grid | None = None
    dash: str | None = None
    kind: Literal["lines", "bars"] = "lines"
    sideways: bool = False
    baseline: str | None = None
    beside: Mapping[str, str] | None = None
    note: str = ""

    def plot(self, frame: pd.DataFrame) -> Plot:
        """Return the plot of a data frame, with the title and the note of the chart."""
        fill, height = partial(self._fill, frame), partial(self._height, frame)
        return Plot(self.title, fill, height, f"{self.note} {self._named(frame)}".strip())

    def _named(self, frame: pd.DataFrame) -> str:
        """Return a sentence that names the lines that coincide; empty if none do."""
        rows, named = self._rows(frame), []
        for title, part in self._parts(rows):
            labels = [label for label, _ in self._lines(part)]
            for group in self._coinciding(part, rows):
                names = ", ".join(labels[place] for place in group)
                named.append(f"{names} in “{title}”" if title else names)
        if len(named) > _MOST_NAMED:
            return "Some lines coincide in most points; the widest is beneath the others."
        if not named:
            return ""
        lines = "; ".join(named)
        return f"These lines coincide in most points; the widest is beneath the others: {lines}."

    def _coinciding(self, part: pd.DataFrame, frame: pd.DataFrame) -> list[list[int]]:
        """Return the groups of lines of a panel that coincide; bars do not."""
        if self.kind == "bars":
            return []
        place = math.log10 if self.y.scale == "log" else float
        return coinciding(
            [
                Points(self.x.places(rows, frame), [*map(place, self.y.values(rows))])
                for _, rows in self._lines(part)
            ]
        )

    def _widths(self, part: pd.DataFrame, frame: pd.DataFrame) -> dict[int, float]:
        """Return by how many pixels lines are wider, so that they can be seen under others."""
        wider: dict[int, float] = {}
        for group in self._coinciding(part, frame):
            layer = min(_LAYER_PIXELS, _MOST_LAYERS_PIXELS / (len(group) - 1))
            wider |= {place: layer * above for above, place in enumerate(reversed(group))}
        return wider

    def _fill(self, frame: pd.DataFrame, figure: Figure, width: int) -> None:
        rows = self._rows(frame)
        parts = self._parts(rows)
        lines, columns = self._shape(len(parts), width)
        panels = figure.subplots(lines, columns, squeeze=False).flat
        marks: dict[str, Any] = {}
        for place, ((title, part), panel) in enumerate(zip(parts, panels, strict=False)):
            marks = self._draw_points(panel, part, rows) | marks
            panel.set_title(title)
            self._fit(panel, part, rows, width / columns - _LABEL_PIXELS)
            below, beside = (self.y, self.x) if self.sideways else (self.x, self.y)
            panel.set_xlabel(below.title if place + columns >= len(parts) else "")
            label = beside.title if place % columns == 0 else ""
            panel.set_ylabel(textwrap.fill(label, _CHARACTERS_BESIDE_PANEL))
        for panel in panels:
            panel.remove()
        if len(marks) > 1:
            figure.legend(
                list(marks.values()),
                list(marks),
                title=self._legend(),
                alignment="left",
                loc="outside upper left",
                ncols=_beside_each_other(marks, width),
            )

    def _fit(self, panel: Axes, part: pd.DataFrame, rows: pd.DataFrame, pixels: float) -> None:
        """Set the scales and ticks of a panel."""
        if self.sideways:
            names = self.x.categories(rows)
            panel.set_yticks(range(len(names)), names)
            panel.set_ylim(len(names) - 0.4, -0.6)
            fit(self.y, "x", panel, part, pixels)
            panel.grid(visible=False, axis="y")
            return
        lines = self.kind == "lines"
        fit(
            self.x,
            "x",
            panel,
            rows if self.x.scale == "category" else part,
            pixels,
            at_values=lines,
        )
        shared = self.y.scale == "log" or (self.panels is not None and self.panels.shared)
        fit(self.y, "y", panel, rows if shared else part, _PANEL_PIXELS)
        if shared and self.y.scale == "linear":
            panel.set_ylim(top=_ABOVE * rows[self.y.column].max())
        panel.grid(visible=lines and self.x.scale != "category", axis="x")

    def _height(self, frame: pd.DataFrame, width: int) -> int:
        rows = self._rows(frame)
        lines, columns = self._shape(len(self._parts(rows)), width)
        labels = [label for label, _ in self._lines(rows)]
        legend = 1 + math.ceil(len(labels) / _beside_each_other(labels, width))
        names = self.x.categories(rows) if self.x.scale == "category" else []
        if self.sideways:
            wide = _BAR_PIXELS * len(labels) + _GAP_PIXELS
            return round(lines * (wide * len(names) + _LABEL_PIXELS)) + legend * _LEGEND_LINE_PIXELS
        panel = _PANEL_PIXELS + height_of_names(names, width / columns - _LABEL_PIXELS)
        return round(lines * panel) + (legend * _LEGEND_LINE_PIXELS if len(labels) > 1 else 0)

    def _legend(self) -> str:
        return self.legend or ("Figures" if self.group == WHOSE else self.group.capitalize())

    def _rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        if self.beside:
            import pandas as pd

            frame = pd.concat(
                frame.assign(**{self.y.column: frame[column], WHOSE: whose})
                for whose, column in self.beside.items()
            ).dropna(subset=[self.y.column])
        return frame[frame[self.y.column] > 0] if self.y.scale == "log" else frame

    def _parts(self, rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
        return list(self.panels.parts(rows)) if self.panels else [("", rows)]

    def _shape(self, parts: int, width: int) -> tuple[int, int]:
        """Return the numbers of lines and columns of panels."""
        most = self.panels.width if self.panels else 1
        columns = max(1, min(most, parts, width // _LEAST_PANEL_PIXELS))
        return max(1, math.ceil(parts / columns)), columns

    def _lines(self, part: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield the label and the rows of each colour and line style."""
        styles = [self.group, self.dash] if self.dash else [self.group]
        for (group, *dash), rows in part.groupby(styles, sort=False):
            yield f"{group} ({dash[0]})" if dash else str(group), rows

    def _draw_points(self, panel: Axes, part: pd.DataFrame, frame: pd.DataFrame) -> dict[str, Any]:
        """Draw the points of a panel, and return the mark of each label in the legend."""
        colours = places_of(frame[self.group])
        dashes = list(dict.fromkeys(frame[self.dash])) if self.dash else []
        marks: dict[str, Any] = {}
        wider = self._widths(part, frame)
        for number, (label, rows) in enumerate(self._lines(part)):
            group = str(rows[self.group].iloc[0])
            place = colours[group]
            if self.kind == "bars":
                marks[label] = self._draw_bars(panel, rows, frame, place)
            else:
                dash = dashes.index(rows[self.dash].iloc[0]) if self.dash else 0
                style = _style(place, dash, len(rows))
                places, values = self.x.places(rows, frame), self.y.values(rows)
                width = style["linewidth"] + wider.get(number, 0)
                panel.plot(places, values, clip_on=False, **{**style, "linewidth": width})
                marks[label] = matplotlib().lines.Line2D([], [], **style)
        if self.baseline:
            dashed: dict[str, Any] = {"color": _LIGHT.ink, "linestyle": "--", "linewidth": 1.2}
            marks[self.baseline] = panel.axhline(part[self.baseline].iloc[0], **dashed)
        return marks

    def _draw_bars(self, panel: Axes, rows: pd.DataFrame, frame: pd.DataFrame, place: int) -> Any:
        groups = list(dict.fromkeys(frame[self.group].astype(str)))
        wide = 0.8 / len(groups)
        shift = (groups.index(str(rows[self.group].iloc[0])) - (len(groups) - 1) / 2) * wide
        places = [each + shift for each in self.x.places(rows, frame)]
        if self.sideways:
            return panel.barh(places, self.y.values(rows), wide, color=_LIGHT.of_run(place))
        return panel.bar(places, self.y.values(rows), wide, color=_LIGHT.of_run(place))


def _style(place: int, dash: int, points: int) -> dict[str, Any]:
    """Return the style of a line; a line of many points is thin, and has no marks."""
    few = points <= _MANY_POINTS
    return {
        "color": _LIGHT.of_run(place),
        "linestyle": _DASHES[dash % len(_DASHES)],
        "linewidth": 2 if few else 1.5,
        "marker": _SYMBOLS[place % len(_SYMBOLS)] if few else "",
        "markersize": 6,
    }


def _beside_each_other(labels: Collection[str], width: int) -> int:
    """Return how many labels of a legend fit beside each other."""
    longest = _LEGEND_MARK_PIXELS + _CHARACTER_PIXELS * max(map(len, labels), default=1)
    return max(1, min(len(labels), width // longest))


class Points(NamedTuple):
    """The points of a line.

    Parameters
    ----------
    x, y
        Places along the axes; of a logarithmic axis, logarithms.
    """

    x: Sequence[float]
    y: Sequence[float]


def coinciding(lines: Sequence[Points]) -> list[list[int]]:
    """Return the groups of lines that coincide, as positions in `lines`.

    All lines of a group coincide with each other. A line is in one group at most, the first.

    Examples
    --------
    >>> lines = [Points([8, 16], [1, 1]), Points([8, 16], [5, 10])]
    >>> coinciding([*lines, Points([8, 16], [1.01, 1.01])])
    [[0, 2]]
    """
    heights = [dict(zip(each.x, each.y, strict=True)) for each in lines]
    every = [height for each in heights for height in each.values()]
    near = _NEAR * (max(every, default=0) - min(every, default=0))
    groups: list[list[int]] = []
    for place, one in enumerate(heights):
        for group in groups:
            if all(_coincide(one, heights[each], near) for each in group):
                group.append(place)
                break
        else:
            groups.append([place])
    return [group for group in groups if len(group) > 1]


def _coincide(one: dict[float, float], other: dict[float, float], near: float) -> bool:
    common = sum(abs(height - other[x]) <= near for x, height in one.items() if x in other)
    return common > _COMMON * min(len(one), len(other))
