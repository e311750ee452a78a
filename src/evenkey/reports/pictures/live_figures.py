"""Figures in the colours of a theme, for pages that change while they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.reports.pictures.engine import plotly
from evenkey.reports.pictures.theme import FONT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.reports.pictures.engine import Figure
    from evenkey.reports.pictures.theme import Theme


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
    """

    title: str
    low: float
    high: float


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
            "colorscale": [[0, theme.heat[0]], [1, theme.heat[1]]],
            "colorbar": scale,
        },
    )


def heat(
    x: Sequence[Any],
    y: Sequence[Any],
    values: Sequence[Sequence[float | None]],
    texts: Sequence[Sequence[str]],
    hover: str,
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
    """
    return plotly().graph_objects.Heatmap(
        x=x,
        y=y,
        z=values,
        text=texts,
        xgap=1,
        ygap=1,
        coloraxis="coloraxis",
        hovertemplate=hover,
    )


def marks(theme: Theme, x: Sequence[Any], y: Sequence[Any], texts: Sequence[str]) -> Any:
    """Make diamonds on cells of a heat map, with a text that appears when the pointer is on one."""
    return plotly().graph_objects.Scatter(
        x=x,
        y=y,
        text=texts,
        mode="markers",
        marker={
            "symbol": "diamond",
            "size": 7,
            "color": theme.bad,
            "line": {"width": 1, "color": theme.surface},
        },
        hovertemplate="%{text}<extra></extra>",
    )
