"""Text of the page: the status line at the top, and a card for each run."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from dash import html

from evenkey.core.metrics import FIGURES, shown_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from evenkey.core.metrics import Figure
    from evenkey.pipeline.exporters import EpochRecord
    from evenkey.reports.dashboard.watched_runs import Run, State
    from evenkey.reports.pictures import Theme

_FIRST = "waiting for the first epoch"
_STATES = {
    "running": "running",
    "finished": "finished",
    "paused": "paused before its end",
    "failed": "failed",
    "silent": "no sign of life since",
}


def standing(runs: Sequence[Run], places: Sequence[str | Path] = ()) -> html.Div:
    """Make the status line: it says whether the stream runs, or when the stream stopped.

    Parameters
    ----------
    runs
        The runs that were found.
    places
        The directories that were searched for runs.
    """
    if not runs:
        where = "".join(f" in {place}" for place in places if str(place) != ".")
        return html.Div(f"Waiting for a run to begin{where} …", className="standing waiting")
    running = [run for run in runs if run.state.running]
    if running:
        names = ", ".join(map(_running, running))
        return html.Div(f"The stream is running: {names}", className="standing running")
    last = max(runs, key=lambda run: run.state.since).state
    text = f"The stream has stopped: {_standing(last)}"
    return html.Div(text, className=f"standing {last.name}")


def cards(runs: Sequence[Run], theme: Theme) -> list[html.Article]:
    """Make a card for each run: its name, its state and its latest metrics."""
    return [_card(run, colour) for run, colour in coloured(runs, theme)]


def coloured(runs: Sequence[Run], theme: Theme) -> Iterator[tuple[Run, str]]:
    """Yield each run with its colour, which is that of its grouping in all charts."""
    yield from zip(runs, theme.of_runs(each.info.grouping for each in runs), strict=True)


def _card(run: Run, colour: str) -> html.Article:
    info = run.info
    head = html.Header(
        [
            html.Span(className="swatch", style={"background": colour}),
            html.H2(info.grouping),
            html.Span(_standing(run.state), className=f"state {run.state.name}"),
        ]
    )
    parts = [info.dataset, _many(info.workers, "worker"), _many(info.sources, "source")]
    latest = run.latest
    about = " · ".join(parts if latest else [*parts, _FIRST])
    groups = _groups(latest) if latest else []
    return html.Article([head, html.P(about, className="about"), *groups])


def _groups(record: EpochRecord) -> list[html.Div]:
    """Make the two parts of a card: the figures of the whole run, and those of the last epoch."""
    shown = [each for each in shown_in("card") if record.get(each.name) is not None]
    last = f"Last epoch: number {record.epoch}"
    if record.get("epoch_messages") is None:
        last += ", which only closes windows"
    run, epoch = ([each for each in shown if each.of_epoch is of] for of in (False, True))
    titles = html.H3("Whole run"), html.H3(defined(last, FIGURES["epochs"].text))
    return [_group(titles[0], run, record), _group(titles[1], epoch, record)]


def _group(title: html.H3, figures: Sequence[Figure], record: EpochRecord) -> html.Div:
    names = [html.Dt(defined(each.label, each.text)) for each in figures]
    values = [html.Dd(each.written(record[each.name])) for each in figures]
    shown = [html.Div([*each]) for each in zip(names, values, strict=True)]
    return html.Div([title, html.Dl(shown)])


def defined(name: str, text: str) -> list[html.Span]:
    """Make a name whose definition appears when the pointer or the focus is on it."""
    return [
        html.Span(name, className="defined", tabIndex=0),
        html.Span(text, className="definition", role="tooltip"),
    ]


def _running(run: Run) -> str:
    return run.info.grouping if run.records else f"{run.info.grouping} ({_FIRST})"


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _standing(state: State) -> str:
    """Return the state of a run; if the run has stopped, also the local time when it stopped."""
    if state.running:
        return _STATES[state.name]
    since = datetime.fromtimestamp(state.since).astimezone()
    return f"{_STATES[state.name]} {since:%Y-%m-%d %H:%M:%S}"
