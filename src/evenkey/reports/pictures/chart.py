"""Charts of data frames, declared before there is data: lines or bars, in panels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from evenkey.reports.pictures.engine import plotly
from evenkey.reports.pictures.theme import PALETTE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from evenkey.reports.pictures.axes import Axis, Grid
    from evenkey.reports.pictures.engine import Figure

WHOSE = "whose"
"""Column with the name of each value's source, if `Chart.beside` draws several columns."""

_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star", "cross", "pentagon")
_DASHES = ("solid", "dot", "dash", "dashdot")
_PANEL_PIXELS = 330
_FRAME_PIXELS = 130
_MANY_POINTS = 40


@dataclass(frozen=True)
class Plot:
    """A figure, with a title above the figure and a note below it."""

    title: str
    figure: Figure
    note: str = ""


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
        Column whose distinct values each get a colour, in order of appearance.
    legend
        Title of the legend. Empty: the name of the `group` column.
    panels
        How to divide the chart into panels. None: one panel.
    dash
        Column whose distinct values each get a line style. None: all lines are solid.
    kind
        Lines with a mark at each point, or bars side by side.
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
    beside: Mapping[str, str] | None = None
    note: str = ""

    def plot(self, frame: pd.DataFrame) -> Plot:
        """Draw the chart; the result also has its title and note."""
        return Plot(self.title, self.figure(frame), self.note)

    def figure(self, frame: pd.DataFrame) -> Figure:
        """Draw the chart."""
        engine = plotly()
        rows = self._rows(frame)
        parts = list(self.panels.parts(rows)) if self.panels else [("", rows)]
        width = min(self.panels.width if self.panels else 1, len(parts))
        height = -(-len(parts) // width)
        figure = engine.subplots.make_subplots(
            rows=height,
            cols=width,
            subplot_titles=[title for title, _ in parts],
            horizontal_spacing=0.09 if width > 1 else 0,
            vertical_spacing=0.28 / height if height > 1 else 0,
        )
        groups = list(dict.fromkeys(rows[self.group]))
        dashes = list(dict.fromkeys(rows[self.dash])) if self.dash else [""]
        shown: set[str] = set()
        for place, (_, part) in enumerate(parts):
            for name, drawn, points in self._traces(part, groups, dashes):
                label = f"{name}, {drawn}" if self.dash else str(name)
                trace = self._trace(points, groups.index(name), dashes.index(drawn))
                trace.update(name=label, legendgroup=label, showlegend=label not in shown)
                shown.add(label)
                figure.add_trace(trace, row=place // width + 1, col=place % width + 1)
        figure.update_xaxes(title_text=self.x.title, **self.x.options(rows))
        figure.update_yaxes(**self.y.options(rows) | {"rangemode": "tozero"})
        figure.update_yaxes(title_text=self.y.title, col=1)
        return figure.update_layout(
            template="plotly_white",
            height=height * _PANEL_PIXELS + _FRAME_PIXELS,
            margin={"l": 80, "r": 30, "t": 50, "b": 60},
            legend={"title": {"text": self._legend()}},
            font={"size": 13},
            hovermode="closest",
        )

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

    def _traces(
        self, part: pd.DataFrame, groups: list[Any], dashes: list[Any]
    ) -> Iterator[tuple[Any, Any, pd.DataFrame]]:
        for name in groups:
            of_group = part[part[self.group] == name]
            for drawn in dashes:
                rows = of_group[of_group[self.dash] == drawn] if self.dash else of_group
                if len(rows):
                    yield name, drawn, rows

    def _trace(self, rows: pd.DataFrame, group: int, dash: int) -> Any:
        draw = plotly().graph_objects
        x, y = self.x.values(rows), self.y.values(rows)
        color = PALETTE[group % len(PALETTE)]
        if self.kind == "bars":
            return draw.Bar(x=x, y=y, marker_color=color)
        few = len(rows) <= _MANY_POINTS
        return draw.Scatter(
            x=x,
            y=y,
            mode="lines+markers" if few else "lines",
            line={"color": color, "dash": _DASHES[dash % len(_DASHES)], "width": 2 if few else 1.5},
            marker={"symbol": _SYMBOLS[group % len(_SYMBOLS)], "size": 8},
            cliponaxis=False,
        )
