"""The page: its layout, and its update every second."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from flask import abort

from evenkey.core.metrics import FIGURES, shown_in
from evenkey.reports.dashboard import dashboard_charts, heat_maps
from evenkey.reports.dashboard.cards import cards, defined, standing
from evenkey.reports.dashboard.requests import refuse_malformed
from evenkey.reports.pictures import THEMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkey.core.metrics import Figure as Measured
    from evenkey.pipeline.exporters import EpochRecord
    from evenkey.reports.dashboard.heat_maps import HeatMap
    from evenkey.reports.dashboard.watched_runs import Run, Runs
    from evenkey.reports.pictures import Figure, Theme

_TICK_MS = 1000
_CHART_HEIGHT = 290


class Chart(NamedTuple):
    """A chart of the page.

    Parameters
    ----------
    title, text
        Title of the chart, and the definition that appears when the pointer is on the title.
    draw
        Function that draws the chart, given the runs and a theme.
    has
        Function that returns whether the record of an epoch has data for the chart.
    height
        Function that returns the height in pixels; None: all such charts have the same height.
    """

    title: str
    text: str
    draw: Callable[[Sequence[Run], Theme], Figure]
    has: Callable[[EpochRecord], bool]
    height: Callable[[Sequence[Run]], int] | None = None

    def fits(self, run: Run) -> bool:
        """Return whether a run has data for this chart; values that are all 0 are no data."""
        return any(map(self.has, run.records))


def _charts() -> dict[str, Chart]:
    """Return all charts by name: loads, one line chart per declared metric, hot keys, owners."""
    return {
        "loads": _bars("Load of each worker, whole run", "loads"),
        "epoch-loads": _bars("Load of each worker, last epoch with input", "epoch_loads"),
        "load-map": _map(
            "Load by worker and epoch",
            "The load of each worker in each epoch, divided by the mean load of the workers in the "
            "epoch: 1 everywhere is perfect balance.",
            heat_maps.LOADS,
            lambda record: bool(record.get("epoch_loads")),
        ),
        **{each.name.replace("_", "-"): _line(each) for each in shown_in("chart")},
        "hot-keys": _map(
            "Hottest keys of the last epoch with input, and the workers that hold them",
            "Each row is a key, with its share of the epoch's load. The darker a cell, the more of "
            "the worker's load comes from the key.",
            heat_maps.HOT_KEYS,
            lambda record: bool(record.hottest),
        ),
        "owners": _map(
            "Owners and moves of static partitions",
            "The worker that has each static partition in each epoch, and the partitions that "
            "moved before an epoch.",
            heat_maps.OWNERS,
            lambda record: bool(record.owners),
        ),
    }


def _bars(title: str, figure: str) -> Chart:
    text = f"{FIGURES[figure].text} The line is the mean."
    draw = partial(dashboard_charts.loads, figure=figure)
    return Chart(title, text, draw, lambda record: bool(record.get(figure)))


def _line(figure: Measured) -> Chart:
    draw = partial(dashboard_charts.over_time, shown=figure)
    return Chart(figure.title, figure.text, draw, lambda record: bool(record.get(figure.name)))


def _map(title: str, text: str, drawn: HeatMap, has: Callable[[EpochRecord], bool]) -> Chart:
    return Chart(title, text, drawn.draw, has, drawn.height)


CHARTS = _charts()
_SIZED = {name: chart.height for name, chart in CHARTS.items() if chart.height is not None}


def page(runs: Runs) -> Dash:
    """Make the page that shows `runs`; the page loads scripts and styles only from its server."""
    app = Dash(
        __name__,
        title="evenkey",
        update_title="",
        assets_folder=str(Path(__file__).with_name("assets")),
        serve_locally=True,
        compress=False,
    )
    head = f"<style>{_variables()}</style>{{%css%}}"
    html_page = app.index_string.replace("<html>", '<html lang="en">')
    app.index_string = html_page.replace("{%css%}", head)
    app.layout = _layout()
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("evenkey", "theme"),
        Output("theme", "data"),
        Input("toggle", "n_clicks"),
    )
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("evenkey", "ask"),
        Output("asked", "data"),
        Input("tick", "n_intervals"),
        State("answered", "data"),
        State("asked", "data"),
    )

    @app.callback(
        Output("answered", "data"),
        Output("seen", "data"),
        Output("standing", "children"),
        Output("cards", "children"),
        *(Output(name, "style") for name in _SIZED),
        *(Output(f"{name}-section", "hidden") for name in CHARTS),
        *(Output(name, "figure") for name in CHARTS),
        Input("asked", "data"),
        Input("theme", "data"),
        State("seen", "data"),
    )  # type: ignore[untyped-decorator, unused-ignore]
    def _update(asked: dict[str, int] | None, name: str, seen: str) -> tuple[Any, ...]:
        if not _could_come(asked, name, seen):
            abort(400, "asked, theme and seen must be values that the page sends")
        answered = asked and asked["number"]
        theme = THEMES[name if name in THEMES else "light"]
        now = runs.read()
        state = _fingerprint(now, theme)
        if state == seen:
            return answered, *(no_update,) * (3 + len(_SIZED) + 2 * len(CHARTS))
        heights = ({"height": height(now)} for height in _SIZED.values())
        hidden = (not any(map(chart.fits, now)) for chart in CHARTS.values())
        drawn = (chart.draw(now, theme) for chart in CHARTS.values())
        said = standing(now, runs.places)
        return answered, state, said, cards(now, theme), *heights, *hidden, *drawn

    refuse_malformed(app)
    return app


def _could_come(asked: object, theme: object, seen: object) -> bool:
    """Return whether the page can send such values; values may be null before the first answer."""
    number = asked.get("number") if isinstance(asked, dict) else None
    return (
        (asked is None or isinstance(number, int))
        and isinstance(theme, str | None)
        and isinstance(seen, str | None)
    )


def _variables() -> str:
    """Return the variables of the style sheet, for the light and the dark theme."""
    light, dark = THEMES["light"].style(), THEMES["dark"].style()
    return (
        f":root {{ color-scheme: light; {light} }}"
        f' :root[data-theme="dark"] {{ color-scheme: dark; {dark} }}'
    )


def _fingerprint(runs: Sequence[Run], theme: Theme) -> str:
    """Return a value that changes only when the page must be redrawn, not at signs of life."""
    parts = [(run.info.run, run.state.name, len(run.records)) for run in runs]
    return repr((parts, theme.surface))


def _layout() -> html.Div:
    charts = [
        html.Section(
            [
                html.H3(defined(chart.title, chart.text)),
                dcc.Graph(
                    id=name,
                    config={"displayModeBar": False},
                    responsive=True,
                    style={"height": _CHART_HEIGHT},
                ),
            ],
            className=name,
            id=f"{name}-section",
            hidden=True,
        )
        for name, chart in CHARTS.items()
    ]
    return html.Div(
        [
            html.Header(
                [
                    html.H1("evenkey"),
                    html.Div(id="standing", role="status"),
                    html.Button("light / dark", id="toggle", n_clicks=0, type="button"),
                ],
                className="top",
            ),
            html.Main(
                [
                    html.Div(id="cards", className="cards"),
                    html.Div(charts, className="charts"),
                ]
            ),
            dcc.Store(id="theme"),
            dcc.Store(id="asked"),
            dcc.Store(id="answered"),
            dcc.Store(id="seen"),
            dcc.Interval(id="tick", interval=_TICK_MS),
        ],
        className="page",
    )
