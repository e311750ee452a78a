"""The page: its layout, and its update every second."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from flask import abort

from evenkey.core.metrics import FIGURES, shown_in
from evenkey.reports.dashboard import dashboard_charts
from evenkey.reports.dashboard.cards import cards, standing
from evenkey.reports.dashboard.requests import refuse_malformed
from evenkey.reports.pictures import THEMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkey.reports.dashboard.watched_runs import Run, Runs
    from evenkey.reports.pictures import Figure, Theme

_TICK_MS = 1000
_CHART_HEIGHT = 290


class Chart(NamedTuple):
    """A chart of the page.

    Parameters
    ----------
    title, text
        Title of the chart, and the sentence that explains it.
    figure
        Name of the metric that the chart shows. Runs without this metric are left out. Empty: the
        chart shows hot keys.
    draw
        Function that draws the chart, given the runs and a theme.
    """

    title: str
    text: str
    figure: str
    draw: Callable[[Sequence[Run], Theme], Figure]

    def fits(self, run: Run) -> bool:
        """Return whether a run has data for this chart."""
        latest = run.latest
        if latest is None:
            return False
        return latest.get(self.figure) is not None if self.figure else bool(latest.hottest)


def _charts() -> dict[str, Chart]:
    """Return all charts by name: loads, one line chart per declared metric, hot keys."""
    loads = FIGURES["loads"]
    lines = {
        each.name.replace("_", "-"): Chart(
            f"{each.label[0].upper()}{each.label[1:]} of each epoch",
            each.text,
            each.name,
            partial(dashboard_charts.over_time, shown=each),
        )
        for each in shown_in("chart")
    }
    return {
        "loads": Chart(
            "Load of each worker over the mean", loads.text, "loads", dashboard_charts.loads
        ),
        **lines,
        "hot-keys": Chart(
            "Hottest keys, and the workers that hold them",
            "The hottest keys of the last epoch.",
            "",
            dashboard_charts.hot_keys,
        ),
    }


CHARTS = _charts()


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
    app.index_string = app.index_string.replace(
        "{%css%}", f"<style>{_variables()}</style>{{%css%}}"
    )
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
        Output("hot-keys", "style"),
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
            return answered, *(no_update,) * (4 + 2 * len(CHARTS))
        height = {"height": dashboard_charts.hot_keys_height(now)}
        hidden = (not any(map(chart.fits, now)) for chart in CHARTS.values())
        drawn = (chart.draw(now, theme) for chart in CHARTS.values())
        said = standing(now, runs.places)
        return answered, state, said, cards(now, theme), height, *hidden, *drawn

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
                html.H3(chart.title, title=chart.text),
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
