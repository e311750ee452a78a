"""Plots from data frames: lines or bars, a panel a value of one column, with axes and legend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from evenkey.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    import pandas as pd
    from plotly.graph_objects import Figure

__all__ = ["Axis", "Grid", "chart", "plotly"]

_COLORS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#8C6D31",
)  # Okabe and Ito's, told apart by the colour-blind too
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star", "cross", "pentagon")
_DASHES = ("solid", "dot", "dash", "dashdot")
_PANEL_PIXELS = 330
_FRAME_PIXELS = 130
_MANY_POINTS = 40


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


def plotly() -> ModuleType:
    """Import Plotly, which draws.

    Raises
    ------
    ConfigurationError
        It is not installed; the message names the extra that brings it.
    """
    try:
        import plotly
        import plotly.graph_objects
        import plotly.io
        import plotly.subplots
    except ImportError as error:
        message = (
            "plots are drawn with plotly, which is missing: pip install 'evenkey[experiments]'"
        )
        raise ConfigurationError(message) from error
    module: ModuleType = plotly
    return module


def chart(
    frame: pd.DataFrame,
    *,
    x: Axis,
    y: Axis,
    group: str,
    legend: str,
    panels: Grid | None = None,
    dash: str | None = None,
    kind: Literal["lines", "bars"] = "lines",
) -> Figure:
    """Draw lines or bars.

    Parameters
    ----------
    frame
        The figures, a row a point.
    x, y
        What the axes show. On a logarithmic axis values that are not above 0 are left out.
    group
        A colour for each value of this column, in the order in which they come.
    legend
        What the groups are.
    panels
        How to divide it into panels; None draws one.
    dash
        A way to draw the line for each value of this column, such as whose figures they are.
    kind
        Lines with a mark a point, or bars side by side.
    """
    engine = plotly()
    if y.scale == "log":
        frame = frame[frame[y.column] > 0]
    parts = list(_parts(frame, panels))
    width = min(panels.width if panels else 1, len(parts))
    height = -(-len(parts) // width)
    figure = engine.subplots.make_subplots(
        rows=height,
        cols=width,
        subplot_titles=[title for title, _ in parts],
        horizontal_spacing=0.09 if width > 1 else 0,
        vertical_spacing=0.28 / height if height > 1 else 0,
    )
    groups = list(dict.fromkeys(frame[group]))
    dashes = list(dict.fromkeys(frame[dash])) if dash else [""]
    shown: set[str] = set()
    for place, (_, part) in enumerate(parts):
        for name, drawn, rows in _traces(part, group, dash, groups, dashes):
            label = f"{name}, {drawn}" if dash else str(name)
            trace = _trace(engine, kind, rows, (x, y), groups.index(name), dashes.index(drawn))
            trace.update(name=label, legendgroup=label, showlegend=label not in shown)
            shown.add(label)
            figure.add_trace(trace, row=place // width + 1, col=place % width + 1)
    figure.update_xaxes(title_text=x.title, **_axis(frame, x))
    figure.update_yaxes(**_axis(frame, y) | {"rangemode": "tozero"})
    figure.update_yaxes(title_text=y.title, col=1)
    figure.update_layout(
        template="plotly_white",
        height=height * _PANEL_PIXELS + _FRAME_PIXELS,
        margin={"l": 80, "r": 30, "t": 50, "b": 60},
        legend={"title": {"text": legend}},
        font={"size": 13},
        hovermode="closest",
    )
    return figure


def _parts(frame: pd.DataFrame, panels: Grid | None) -> Iterator[tuple[str, pd.DataFrame]]:
    if panels is None:
        yield "", frame
        return
    for value in dict.fromkeys(frame[panels.column]):
        yield panels.title.format(value), frame[frame[panels.column] == value]


def _traces(
    part: pd.DataFrame, group: str, dash: str | None, groups: list[Any], dashes: list[Any]
) -> Iterator[tuple[Any, Any, pd.DataFrame]]:
    for name in groups:
        of_group = part[part[group] == name]
        for drawn in dashes:
            rows = of_group[of_group[dash] == drawn] if dash else of_group
            if len(rows):
                yield name, drawn, rows


def _trace(
    engine: ModuleType,
    kind: str,
    rows: pd.DataFrame,
    axes: tuple[Axis, Axis],
    group: int,
    dash: int,
) -> Any:
    x, y = ((rows[axis.column].astype(str) if axis.scale == "category" else rows[axis.column])
            for axis in axes)  # fmt: skip
    color = _COLORS[group % len(_COLORS)]
    if kind == "bars":
        return engine.graph_objects.Bar(x=x.tolist(), y=y.tolist(), marker_color=color)
    few = len(rows) <= _MANY_POINTS
    return engine.graph_objects.Scatter(
        x=x.tolist(),
        y=y.tolist(),
        mode="lines+markers" if few else "lines",
        line={"color": color, "dash": _DASHES[dash % len(_DASHES)], "width": 2 if few else 1.5},
        marker={"symbol": _SYMBOLS[group % len(_SYMBOLS)], "size": 8},
        cliponaxis=False,
    )


def _axis(frame: pd.DataFrame, axis: Axis) -> dict[str, Any]:
    if axis.scale == "category":
        values = list(dict.fromkeys(frame[axis.column].astype(str)))
        return {"type": "category", "categoryorder": "array", "categoryarray": values}
    if axis.scale == "linear":
        return {}
    # Whole decades, the same in all panels, so that panels can be compared.
    low, high = (math.log10(each(frame[axis.column])) for each in (min, max))
    look: dict[str, Any] = {"type": "log", "range": [math.floor(low), math.ceil(high)]}
    return look | {
        "exponentformat": "power",
        "dtick": 1,
        "minor": {"dtick": "D1", "ticks": "outside"},
    }
