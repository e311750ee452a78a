"""Figures in a theme, for pages that change while one looks at them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkey.reports.pictures.engine import plotly
from evenkey.reports.pictures.theme import FONT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.reports.pictures.engine import Figure
    from evenkey.reports.pictures.theme import Theme


def themed(theme: Theme, across: str, up: str) -> Figure:
    """Make an empty figure with the titles of its axes; its groups have no legend."""
    figure = plotly().graph_objects.Figure()
    figure.update_layout(
        template="none",
        margin={"l": 48, "r": 12, "t": 12, "b": 40},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 12, "color": theme.ink},
        hoverlabel={"bgcolor": theme.surface, "font": {"color": theme.ink}},
        showlegend=False,  # the page says elsewhere which colour is whose
        bargap=0.25,
        dragmode=False,  # a finger that moves over a chart scrolls the page
    )
    figure.update_xaxes(title_text=across)
    figure.update_yaxes(title_text=up)
    return look(figure, theme)


def look(figure: Figure, theme: Theme) -> Figure:
    """Give all axes of a figure the theme's look."""
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
    """Divide an empty figure into panels, one under the other.

    Parameters
    ----------
    figure
        It gives way to what is returned.
    heights
        Of the panels, in any unit.
    titles
        Of the panels.
    gap
        Between two panels, as a part of the figure's height.
    """
    return plotly().subplots.make_subplots(
        figure=figure,
        rows=len(heights),
        cols=1,
        row_heights=heights,
        vertical_spacing=gap if len(heights) > 1 else 0,
        subplot_titles=titles,
    )


def heat(
    theme: Theme,
    x: Sequence[Any],
    y: Sequence[Any],
    percents: Sequence[Sequence[float]],
    texts: Sequence[Sequence[str]],
    hover: str,
) -> Any:
    """Make a trace that shows percentages by colour, a row a value of `y`.

    Parameters
    ----------
    theme
        The colours of 0 and of 100 %.
    x, y
        What the columns and rows are.
    percents, texts
        A row a value of `y`, with one for each of `x`: the percentage, and what is to stand for
        ``%{text}`` in `hover`.
    hover
        What is shown where the pointer is, as Plotly writes it.
    """
    return plotly().graph_objects.Heatmap(
        x=x,
        y=y,
        z=percents,
        text=texts,
        zmin=0,
        zmax=100,
        xgap=1,
        ygap=1,
        colorscale=[[0, theme.heat[0]], [1, theme.heat[1]]],
        showscale=False,
        hovertemplate=hover,
    )
