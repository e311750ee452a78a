"""The page: its layout, and what changes on it from second to second."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update

from evenkey.dashboard import figures
from evenkey.dashboard.cards import cards, standing
from evenkey.pictures import THEMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkey.dashboard.runs import Run, Runs
    from evenkey.pictures import Figure, Theme

__all__ = ["page"]

_TICK_MS = 1000
_CHART_HEIGHT = 290

_CHARTS: dict[str, tuple[str, Callable[[Sequence[Run], Theme], Figure]]] = {
    "loads": ("Load of each worker over the mean", figures.loads),
    "max-over-mean": ("Balance: max/mean of each epoch", figures.max_over_mean),
    "replication": ("Replication: DistCost of each epoch", figures.replication),
    "throughput": ("Throughput of each epoch", figures.throughput),
    "latency": ("Latency: how long each epoch took", figures.latency),
    "hot-keys": ("Hottest keys, and the workers that hold them", figures.hot_keys),
}


def page(runs: Runs) -> Dash:
    """Make the page over some runs; everything that it loads comes from its own server."""
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

    @app.callback(
        Output("seen", "data"),
        Output("standing", "children"),
        Output("cards", "children"),
        Output("hot-keys", "style"),
        *(Output(name, "figure") for name in _CHARTS),
        Input("tick", "n_intervals"),
        Input("theme", "data"),
        State("seen", "data"),
    )  # type: ignore[untyped-decorator, unused-ignore]
    def _update(_ticks: int, name: str, seen: str) -> tuple[Any, ...]:
        theme = THEMES[name if name in THEMES else "light"]
        now = runs.read()
        state = _fingerprint(now, theme)
        if state == seen:
            return (no_update,) * (4 + len(_CHARTS))
        height = {"height": figures.hot_keys_height(now)}
        charts = (draw(now, theme) for _, draw in _CHARTS.values())
        return state, standing(now), cards(now, theme), height, *charts

    return app


def _variables() -> str:
    """The variables of the style sheet, for light and dark."""
    light, dark = THEMES["light"].style(), THEMES["dark"].style()
    return (
        f":root {{ color-scheme: light; {light} }}"
        f' :root[data-theme="dark"] {{ color-scheme: dark; {dark} }}'
    )


def _fingerprint(runs: Sequence[Run], theme: Theme) -> str:
    """What changes when the page must; signs of life alone do not redraw it."""
    parts = [(run.info.run, run.state.name, len(run.records)) for run in runs]
    return repr((parts, theme.surface))


def _layout() -> html.Div:
    charts = [
        html.Section(
            [
                html.H3(title),
                dcc.Graph(
                    id=name,
                    config={"displayModeBar": False},
                    responsive=True,
                    style={"height": _CHART_HEIGHT},
                ),
            ],
            className=name,
        )
        for name, (title, _) in _CHARTS.items()
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
            dcc.Store(id="seen"),
            dcc.Interval(id="tick", interval=_TICK_MS),
        ],
        className="page",
    )
