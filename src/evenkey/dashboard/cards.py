"""The page's words and numbers: how the runs stand, and a card for each."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from dash import html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.dashboard.runs import Run, State
    from evenkey.exporters import EpochRecord
    from evenkey.pictures import Theme

__all__ = ["cards", "standing"]

_SECONDS_FROM_MS = 10_000

_STATES = {
    "running": "running",
    "finished": "finished",
    "paused": "paused before its end",
    "failed": "failed",
    "silent": "no sign of life since",
}


def standing(runs: Sequence[Run]) -> html.Div:
    """One line above all: whether the stream runs, or that it has stopped, and when."""
    if not runs:
        return html.Div("Waiting for a run to begin …", className="standing waiting")
    running = [run for run in runs if run.state.running]
    if running:
        names = ", ".join(run.info.grouping for run in running)
        return html.Div(f"The stream is running: {names}", className="standing running")
    last = max(runs, key=lambda run: run.state.since).state
    text = f"The stream has stopped: {_standing(last)}"
    return html.Div(text, className=f"standing {last.name}")


def cards(runs: Sequence[Run], theme: Theme) -> list[html.Article]:
    """A card a run: who runs, how it stands, the observer's metrics."""
    return [_card(run, theme.of_run(number)) for number, run in enumerate(runs)]


def _card(run: Run, colour: str) -> html.Article:
    info = run.info
    head = html.Header(
        [
            html.Span(className="swatch", style={"background": colour}),
            html.H2(info.grouping),
            html.Span(_standing(run.state), className=f"state {run.state.name}"),
        ]
    )
    epoch = "no epoch yet" if run.latest is None else f"epoch {run.latest.epoch}"
    workers, sources = _many(info.workers, "worker"), _many(info.sources, "source")
    about = html.P(f"{info.dataset} · {workers} · {sources} · {epoch}", className="about")
    if run.latest is None:
        return html.Article([head, about])
    figures = [html.Div([html.Dt(name), html.Dd(text)]) for name, text in _figures(run.latest)]
    return html.Article([head, about, html.Dl(figures)])


def _figures(record: EpochRecord) -> list[tuple[str, str]]:
    return [
        ("messages", f"{record.total_count:,}"),
        ("throughput", f"{record.throughput:,.0f} /s"),
        ("max/mean", f"{record.max_over_mean:,.3f}"),
        ("StdDev", f"{record.std_dev:,.2f} %"),
        ("DistCost", f"{record.dist_cost:,.2f}"),
        ("rejected", f"{record.rejected:,}"),
        ("latency p50", _milliseconds(record.latency_p50_ms)),
        ("latency p99", _milliseconds(record.latency_p99_ms)),
    ]


def _milliseconds(value: float) -> str:
    return f"{value:,.0f} ms" if value < _SECONDS_FROM_MS else f"{value / 1000:,.1f} s"


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _standing(state: State) -> str:
    """How a run stands, and since when if it does not go on: local time of this machine."""
    if state.running:
        return _STATES[state.name]
    since = datetime.fromtimestamp(state.since).astimezone()
    return f"{_STATES[state.name]} {since:%Y-%m-%d %H:%M:%S}"
