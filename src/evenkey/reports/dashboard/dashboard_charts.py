"""The charts of the page: each function draws one chart of the runs, in the colours of a theme."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

from evenkey.core.metrics import FIGURES
from evenkey.reports.pictures import heat, look, stacked, themed

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
_MOST_TICKS = 12
_LONGEST_KEY = 18
_LEAST_HEIGHT, _ROW_HEIGHT, _ROWS_MARGIN = 290, 24, 66


def loads(runs: Sequence[Run], theme: Theme) -> Figure:
    """Draw the load of each worker over the mean load, for the whole run."""
    figure = themed(theme, "worker", "load / mean")
    for number, run in enumerate(runs):
        if run.latest is None or run.latest.get("loads") is None:
            continue
        held = run.latest["loads"]
        mean = max(1, sum(held)) / len(held)
        figure.add_bar(
            x=list(range(len(held))),
            y=[load / mean for load in held],
            customdata=list(held),
            name=escape(run.info.grouping),
            marker_color=theme.of_run(number),
            hovertemplate=f"worker %{{x}}: %{{customdata:,}} {escape(run.info.load_unit)}, "
            "%{y:.2f} of the mean",
        )
    most = max((run.info.workers for run in runs), default=1)
    figure.update_xaxes(range=[-0.5, most - 0.5], **_worker_ticks(most))
    figure.add_hline(y=1, line_width=1, line_dash="dot", line_color=theme.muted)
    return figure


def over_time(runs: Sequence[Run], theme: Theme, shown: Measured) -> Figure:
    """Draw a metric of each epoch; if the metric has a limit, draw the limit as a dotted line.

    A line has a gap where a run was stopped and continued later.
    """
    figure = themed(theme, "seconds since the start", shown.unit)
    for number, run in enumerate(runs):
        records = _thinned([each for each in run.records if each.get(shown.name) is not None])
        if not records:
            continue
        points = [(_seconds(run, each), each[shown.name], each.epoch) for each in records]
        x, y, epochs = zip(*_broken(points, records), strict=True)
        figure.add_scatter(
            x=x,
            y=y,
            customdata=epochs,
            name=escape(run.info.grouping),
            mode="lines+markers" if len(records) <= _MARKED_POINTS else "lines",
            line={"color": theme.of_run(number), "width": 2},
            marker={"size": 6},
            connectgaps=False,
            hovertemplate="epoch %{customdata}: %{y:,.3~f}",
        )
        if shown.limit and records[-1].get(shown.limit) is not None:
            figure.add_scatter(
                x=x,
                y=[None if value is None else records[-1][shown.limit] for value in y],
                name=f"{escape(run.info.grouping)}: {FIGURES[shown.limit].label}",
                mode="lines",
                line={"color": theme.of_run(number), "width": 1.5, "dash": "dot"},
                connectgaps=False,
                hovertemplate="%{y:,.3~f}",
            )
    return figure.update_yaxes(rangemode="tozero" if shown.unit else "normal")


def hot_keys(runs: Sequence[Run], theme: Theme) -> Figure:
    """Draw the hottest keys of the last epoch and their workers, one panel per run."""
    shown = [(run.info, run.latest) for run in runs if run.latest and run.latest.hottest]
    figure = themed(theme, "worker", "")
    if not shown:
        return figure
    rows = [len(record.hottest) for _, record in shown]
    height = hot_keys_height(runs)
    titles = [f"{escape(info.grouping)}, epoch {record.epoch}" for info, record in shown]
    grid = stacked(figure, rows, titles, _ROWS_MARGIN / height)
    for row, (info, record) in enumerate(shown, start=1):
        grid.add_trace(_heat(record, theme), row=row, col=1)
        grid.update_xaxes(**_worker_ticks(info.workers), row=row, col=1)
    grid.update_yaxes(autorange="reversed", ticksuffix=" ", type="category", showgrid=False)
    look(grid, theme)
    grid.update_xaxes(title_text="")
    grid.update_xaxes(title_text="worker", row=len(shown), col=1)
    grid.update_annotations(font={"size": 12, "color": theme.muted}, xanchor="left", x=0)
    return grid.update_layout(margin={"t": 28, "l": 10})


def hot_keys_height(runs: Sequence[Run]) -> int:
    """Return the height of the chart of hot keys, in pixels; each key has a row."""
    rows = [len(run.latest.hottest) for run in runs if run.latest and run.latest.hottest]
    return max(_LEAST_HEIGHT, _ROW_HEIGHT * sum(rows) + _ROWS_MARGIN * len(rows) + 20)


def _heat(record: EpochRecord, theme: Theme) -> Any:
    workers = range(len(record["epoch_loads"]))
    shares, texts, names = [], [], []
    for rank, hot in enumerate(record.hottest, start=1):
        held = dict(zip(hot.pool, hot.held, strict=True))
        shares.append([100 * held.get(worker, 0) / hot.messages for worker in workers])
        texts.append([f"{held.get(worker, 0):,}" for worker in workers])
        percent = 100 * hot.messages / max(1, record["epoch_messages"])
        names.append(f"{rank}. {_short(hot.key)} {percent:.1f} %")
    hover = "%{y}<br>worker %{x}: %{text} messages, %{z:.1f} % of the key<extra></extra>"
    return heat(theme, list(workers), names, shares, texts, hover)


def _worker_ticks(workers: int) -> dict[str, Any]:
    """Return options that label every worker, or only every n-th worker if there are many."""
    return {"tick0": 0, "dtick": -(-workers // _MOST_TICKS)}


def _short(key: str) -> str:
    return escape(key if len(key) <= _LONGEST_KEY else key[: _LONGEST_KEY - 1] + "…")


def _seconds(run: Run, record: EpochRecord) -> float:
    """Return the time at which an epoch ended, in seconds since the run began."""
    return record.ended - _began(run.records[0])


def _began(record: EpochRecord) -> float:
    """Return the time at which the process of an epoch started, in seconds since 1970."""
    return record.ended - float(record["makespan_ms"]) / 1000


def _broken(points: Sequence[_Point], records: Sequence[EpochRecord]) -> list[_Point]:
    """Insert a gap between two points if a new process started between them."""
    broken = list(points[:1])
    for i in range(1, len(points)):
        if _began(records[i]) > records[i - 1].ended:
            broken.append((None, None, None))
        broken.append(points[i])
    return broken


def _thinned(records: Sequence[EpochRecord]) -> Sequence[EpochRecord]:
    """Return every n-th record including the last one, at most `_MOST_POINTS` records."""
    step = max(1, -(-len(records) // _MOST_POINTS))
    return records[(len(records) - 1) % step :: step]
