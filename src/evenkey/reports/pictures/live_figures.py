"""Plotly's figures in the colours of a theme, for pages that change while they are shown."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from evenkey.core.extras import load_extra
from evenkey.reports.pictures.theme import FONT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Self

    from plotly import graph_objects

    from evenkey.reports.pictures.theme import Theme

Figure: TypeAlias = "graph_objects.Figure"
"""A Plotly figure."""

_MOST_TICKS = 12
_CELL_TEXT_SIZE = 10


def plotly() -> ModuleType:
    """Import Plotly, with all modules of Plotly that this package uses.

    Raises
    ------
    ConfigurationError
        Plotly is not installed; the message names the extra that installs it.
    """
    for name in ("graph_objects", "io", "subplots"):
        load_extra(f"plotly.{name}", "dashboard", "a live chart")
    module: ModuleType = load_extra("plotly", "dashboard", "a live chart")
    return module


def themed(theme: Theme, across: str, up: str) -> Figure:
    """Make an empty figure with titled axes and without a legend."""
    figure = plotly().graph_objects.Figure()
    figure.update_layout(
        template="none",
        margin={"l": 48, "r": 12, "t": 12, "b": 40},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 12, "color": theme.ink},
        hoverlabel={"bgcolor": theme.surface, "font": {"color": theme.ink}},
        showlegend=False,  # the cards of the page show the colour of each run
        bargap=0.25,
        dragmode=False,  # a finger that moves over a chart scrolls the page
    )
    figure.update_xaxes(title_text=across)
    figure.update_yaxes(title_text=up)
    return look(figure, theme)


def look(figure: Figure, theme: Theme) -> Figure:
    """Style all axes of a figure by the theme."""
    options: dict[str, Any] = {
        "gridcolor": theme.grid,
        "linecolor": theme.grid,
        "zeroline": False,
        "ticks": "",
        "automargin": True,
        "title_font": {"size": 12, "color": theme.muted},
        "title_standoff": 8,
        "tickfont": {"size": 11, "color": theme.muted},
    }
    return figure.update_xaxes(showgrid=False, **options).update_yaxes(**options)


def whole_ticks(count: int) -> dict[str, Any]:
    """Return options that label every number below `count`, or every n-th if there are many."""
    return {"tick0": 0, "dtick": max(1, -(-count // _MOST_TICKS))}


def stacked(figure: Figure, heights: Sequence[float], titles: Sequence[str], gap: float) -> Figure:
    """Divide an empty figure into panels, one below the other.

    Parameters
    ----------
    figure
        The empty figure. Use the returned figure instead of it.
    heights
        Heights of the panels, relative to each other.
    titles
        Titles of the panels.
    gap
        Space between two panels, as a fraction of the figure's height.
    """
    return plotly().subplots.make_subplots(
        figure=figure,
        rows=len(heights),
        cols=1,
        row_heights=heights,
        vertical_spacing=gap if len(heights) > 1 else 0,
        subplot_titles=titles,
    )


class Shades(NamedTuple):
    """The scale of colours of a heat map.

    Parameters
    ----------
    title
        What the colours show.
    low, high
        Values of the two ends of the scale.
    steps
        Number of colours, each of which stands for a part of the scale; they begin again after the
        last colour of `Theme.runs`. 0: the colours change gradually, from `Theme.heat`.
    """

    title: str
    low: float
    high: float
    steps: int = 0

    @classmethod
    def of_workers(cls, title: str, workers: int) -> Self:
        """Return a scale that has one colour for each worker."""
        return cls(title, -0.5, workers - 0.5, workers)

    def colours(self, theme: Theme) -> list[tuple[float, str]]:
        """Return the colours at positions of the scale, from 0 to 1.

        Examples
        --------
        >>> from evenkey.reports.pictures.theme import THEMES
        >>> light = THEMES["light"]
        >>> places = [place for place, _ in Shades.of_workers("worker", 2).colours(light)]
        >>> places
        [0.0, 0.5, 0.5, 1.0]
        """
        if not self.steps:
            return [(0, theme.heat[0]), (1, theme.heat[1])]
        ends = [step / self.steps for step in range(self.steps + 1)]
        return [
            (end, theme.of_run(step))
            for step, pair in enumerate(itertools.pairwise(ends))
            for end in pair
        ]


def shaded(figure: Figure, theme: Theme, shades: Shades) -> Figure:
    """Give all heat maps of a figure one scale of colours, which is drawn above them."""
    scale = {
        "orientation": "h",
        "thickness": 10,
        "len": 1,
        "yref": "container",
        "y": 1,
        "yanchor": "top",
        "ypad": 24,  # below the title
        "outlinewidth": 0,
        "tickfont": {"size": 11, "color": theme.muted},
    }
    if shades.steps:
        scale |= whole_ticks(shades.steps)
    return figure.update_layout(
        # The colour bar's own title overlaps its colours in wide figures.
        title={
            "text": shades.title,
            "font": {"size": 12, "color": theme.muted},
            "x": 0,
            "xref": "container",
            "pad": {"t": 4, "l": 4},
            "y": 1,
            "yref": "container",
            "yanchor": "top",
        },
        coloraxis={
            "cmin": shades.low,
            "cmax": shades.high,
            "colorscale": shades.colours(theme),
            "colorbar": scale,
        },
    )


def heat(
    x: Sequence[Any],
    y: Sequence[Any],
    values: Sequence[Sequence[float | None]],
    texts: Sequence[Sequence[str]],
    hover: str,
    *,
    written: bool = False,
) -> Any:
    """Make a heat map in the colours of `shaded`.

    Parameters
    ----------
    x, y
        Labels of the columns and of the rows.
    values, texts
        The values of the cells, and the texts that replace ``%{text}`` in `hover`; one list per
        row.
    hover
        Text that appears when the pointer is on a cell: a hover template of Plotly.
    written
        Whether the texts are also written in the cells.
    """
    in_cells = {"texttemplate": "%{text}", "textfont": {"size": _CELL_TEXT_SIZE}}
    return plotly().graph_objects.Heatmap(
        x=x,
        y=y,
        z=values,
        text=texts,
        xgap=1,
        ygap=1,
        coloraxis="coloraxis",
        hovertemplate=hover,
        **(in_cells if written else {}),
    )


def marks(theme: Theme, x: Sequence[Any], y: Sequence[Any], texts: Sequence[str]) -> Any:
    """Make diamonds on a heat map, with a text that appears when the pointer is on one."""
    return plotly().graph_objects.Scatter(
        x=x,
        y=y,
        text=texts,
        mode="markers",
        marker={
            "symbol": "diamond",
            "size": 9,
            "color": theme.ink,
            "line": {"width": 1.5, "color": theme.surface},
        },
        hovertemplate="%{text}<extra></extra>",
    )
