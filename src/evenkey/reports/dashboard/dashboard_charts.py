"""Bars and lines of the page: each function draws one chart of the runs, in a theme's colours."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

from evenkey.core.metrics import FIGURES
from evenkey.reports.dashboard.cards import coloured
from evenkey.reports.dashboard.watched_runs import thinned
from evenkey.reports.pictures import themed, whole_ticks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.core.metrics import Figure as Measured
    from evenkey.pipeline.exporters import EpochRecord
    from evenkey.reports.dashboard.watched_runs import Run
    from evenkey.reports.pictures import Figure, Theme

    _Point: TypeAlias = tuple[float | None, float | None, int | None]

_MOST_POINTS = 1000
"""Maximum number of points of a line. More points would be sent to the browser at each epoch, but
could not be seen."""
_MARKED_POINTS = 60
_HEADROOM, _LEAST_RANGE, _MOST_LABELS = 1.08, 0.5, 6
_LEAST_PAUSE = 1.0
"""Seconds between two epochs that are in no makespan and so were a pause: starting Spark takes
longer."""


def loads(runs: Sequence[Run], theme: Theme, figure: str) -> Figure:
    """Draw the load of each worker over the mean load, for the whole run or the last epoch."""
    drawn = themed(theme, "worker", "load / mean")
    most, highest = 1, 1.0
    for run, colour in coloured(runs, theme):
        record = run.last_with(figure)
        if record is None:
            continue
        held = record[figure]
        mean = max(1, sum(held)) / len(held)
        ratios = [load / mean for load in held]
        most, highest = max(most, len(held)), max(highest, *ratios)
        name, unit = escape(run.info.grouping), escape(run.info.load_unit)
        drawn.add_bar(
            x=list(range(len(held))),
            y=ratios,
            customdata=list(held),
            name=name,
            marker_color=colour,
            hovertemplate=f"worker %{{x}}: %{{customdata:,}} {unit}, %{{y:.2f}} of the mean",
        )
    drawn.update_xaxes(range=[-0.5, most - 0.5], **whole_ticks(most))
    drawn.update_yaxes(range=[0, _HEADROOM * highest])
    drawn.add_hline(y=1, line_width=1, line_dash="dot", line_color=theme.muted)
    return drawn


def over_time(runs: Sequence[Run], theme: Theme, shown: Measured) -> Figure:
    """Draw a metric of each epoch; if the metric has a limit, draw the limit as a dotted line.

    A line has a gap where a run was stopped and continued later. Runs with the same limit have one
    line for it, with one label.
    """
    figure = themed(theme, "seconds since the start", shown.unit)
    drawn: list[float | None] = []
    limits: dict[float, str] = {}
    for run, colour in coloured(runs, theme):
        known = [each for each in run.records if each.get(shown.name) is not None]
        records = thinned(known, _MOST_POINTS)
        if not records:
            continue
        points = [(_seconds(run, each), each[shown.name], each.epoch) for each in records]
        x, y, epochs = zip(*_broken(points, records), strict=True)
        drawn += y
        figure.add_scatter(
            x=x,
            y=y,
            customdata=epochs,
            name=escape(run.info.grouping),
            showlegend=False,  # the cards show the colour of each run
            mode="lines+markers" if len(records) <= _MARKED_POINTS else "lines",
            line={"color": colour, "width": 2},
            marker={"size": 6},
            connectgaps=False,
            cliponaxis=False,  # a marker on the axis is drawn whole
            hovertemplate="epoch %{customdata}: %{y:,.3~f}",
        )
        if shown.limit and records[-1].get(shown.limit) is not None:
            limits[records[-1][shown.limit]] = escape(run.info.grouping)
    for limit, grouping in limits.items():
        label = f"{FIGURES[shown.limit].label} {FIGURES[shown.limit].written(limit)}"
        _draw_limit(figure, theme, limit, label if len(limits) == 1 else f"{grouping}: {label}")
    return figure.update_yaxes(**_axis(shown, [*drawn, *limits]))


def _draw_limit(figure: Figure, theme: Theme, limit: float, label: str) -> None:
    """Draw a limit as a dotted line over the whole length of the other lines, with a legend."""
    seconds = [x for line in figure.data for x in line.x if x is not None]
    figure.add_scatter(
        x=[min(seconds), max(seconds)],
        y=[limit, limit],
        name=label,
        mode="lines",
        line={"color": theme.ink, "width": 1.5, "dash": "dot"},
        hovertemplate="%{fullData.name}<extra></extra>",
        showlegend=True,
    )
    # Above the lines, so that it covers none of them.
    legend = {"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom"}
    figure.update_layout(
        showlegend=True, legend={**legend, "itemclick": False, "itemdoubleclick": False}
    )


def _axis(shown: Measured, values: Sequence[float | None]) -> dict[str, Any]:
    """Return an axis from the lowest possible value, with a label, to above the highest value."""
    highest = max((each for each in values if each is not None), default=shown.least)
    length = _HEADROOM * (highest - shown.least) or _LEAST_RANGE
    step = 10 ** math.floor(math.log10(length))
    step *= next(each for each in (0.2, 0.5, 1, 2) if length / (each * step) <= _MOST_LABELS)
    return {"range": [shown.least, shown.least + length], "tick0": shown.least, "dtick": step}


def _seconds(run: Run, record: EpochRecord) -> float:
    """Return the time at which an epoch ended, in seconds since the run began."""
    first = run.records[0]
    return record.ended - (first.ended - float(first["makespan_ms"]) / 1000)


def _paused(before: EpochRecord, after: EpochRecord) -> bool:
    """Return whether the run paused between two epochs: the pause is not in its makespan."""
    passed = after.ended - before.ended
    worked = (float(after["makespan_ms"]) - float(before["makespan_ms"])) / 1000
    return passed - worked > _LEAST_PAUSE


def _broken(points: Sequence[_Point], records: Sequence[EpochRecord]) -> list[_Point]:
    """Insert a gap between two points if the run paused between them."""
    broken = list(points[:1])
    for i in range(1, len(points)):
        if _paused(records[i - 1], records[i]):
            broken.append((None, None, None))
        broken.append(points[i])
    return broken
