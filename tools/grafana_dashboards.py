"""Write Grafana's dashboards: python -m tools.grafana_dashboards DIRECTORY.

It writes one dashboard for InfluxDB and one for Prometheus, with the same panels.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    dashboard,
    prometheus,
    stat,
    table,
    timeseries,
)
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models.common import VisibilityMode
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DataSourceRef,
    GridPos,
    VariableRefresh,
    VariableSort,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from tools.grafana_panels import PANELS, Panel

__all__ = ["dashboards", "main"]

_WIDTH, _STAT_HEIGHT, _CHART_HEIGHT = 24, 4, 8
_KINDS = {"stat": stat, "line": timeseries, "bar": bargauge, "table": table}


class InfluxQuery(Dataquery):
    """A query in InfluxQL, for which Grafana's foundation SDK has no class."""

    def __init__(self, query: str, alias: str, form: str) -> None:
        self._fields = {
            "query": query,
            "alias": alias,
            "rawQuery": True,
            "resultFormat": form,
            "refId": "A",
            "datasource": _reference("influxdb"),
        }

    def to_json(self) -> dict[str, object]:
        """Return the query as Grafana reads it."""
        return self._fields


class _Influx(Builder[InfluxQuery]):
    def __init__(self, panel: Panel) -> None:
        self._panel = panel

    def build(self) -> InfluxQuery:
        selected, measurement, tag = self._panel.influx
        if selected.endswith('_ms")'):
            selected += " / 1000"  # shown in seconds, as Prometheus has them
        group = ['"run"', *([f'"{tag}"'] if tag else [])]
        if self._panel.kind == "line":
            group.insert(0, "time($__interval)")
        query = (  # all parts come from our own panels, none from users
            f'SELECT {selected} FROM "{measurement}" WHERE "run" =~ /^$run$/ AND $timeFilter '  # noqa: S608
            f"GROUP BY {', '.join(group)}{' fill(none)' if self._panel.kind == 'line' else ''}"
        )
        several = " $col" if ", " in selected and not tag else ""
        alias = f"$tag_run $tag_{tag}" if tag else f"$tag_run{several}"
        form = "table" if self._panel.kind == "table" else "time_series"
        return InfluxQuery(query, alias, form)


def _prometheus(panel: Panel) -> prometheus.Dataquery:
    chosen = panel.prometheus.replace("{", '{run=~"$run"')
    # InfluxDB has keys as fields, and ranks as tags, because keys are unbounded.
    tag = {"rank": "key"}.get(panel.influx[2], panel.influx[2])
    several = "__name__" if "__name__" in chosen else ""
    query = (
        prometheus.Dataquery()
        .expr(chosen)
        .ref_id("A")
        .legend_format(f"{{{{run}}}} {{{{{tag or several}}}}}" if tag or several else "{{run}}")
        .datasource(_reference("prometheus"))
    )
    if panel.kind == "line":
        return query.range()
    form = PromQueryFormat.TABLE if panel.kind == "table" else PromQueryFormat.TIME_SERIES
    return query.instant().format(form)


def _reference(source: str) -> DataSourceRef:
    return DataSourceRef(type_val=source, uid=f"evenkey-{source}")


def _built(panel: Panel, source: str, number: int, place: GridPos) -> Any:
    query = _Influx(panel) if source == "influxdb" else _prometheus(panel)
    built: Any = (
        _KINDS[panel.kind]
        .Panel()
        .id(number)
        .title(panel.title)
        .description(panel.description)
        .datasource(_reference(source))
        .grid_pos(place)
        .unit(panel.unit)
        .with_target(query)
    )
    if panel.kind == "line":
        return built.show_points(VisibilityMode.ALWAYS).line_width(2).fill_opacity(0)
    if panel.kind == "stat":
        return built.reduce_options(
            common.ReduceDataOptions().calcs(["lastNotNull"]).values(values=False)
        )
    return built


def _places() -> list[GridPos]:
    """Place number panels six to a row and charts two; all panels of a row have one height."""
    places: list[GridPos] = []
    widths = {"stat": 4, "line": 12, "bar": 12, "table": 12}
    x = y = height = 0
    for panel in PANELS:
        width, needed = widths[panel.kind], _STAT_HEIGHT if panel.kind == "stat" else _CHART_HEIGHT
        if x + width > _WIDTH or needed != height:
            x, y, height = 0, y + height, needed
        places.append(GridPos(x=x, y=y, w=width, h=height))
        x += width
    return places


def _dashboard(source: str, name: str, runs: str) -> dashboard.Dashboard:
    variable = (
        dashboard.QueryVariable("run")
        .label("Run")
        .datasource(_reference(source))
        .query(runs)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_DESC)
        .multi(multi=True)
        .include_all(include_all=True)
        .all_value(".*")
    )
    built = (
        dashboard.Dashboard(f"evenkey ({name})")
        .uid(f"evenkey-{source}")
        .tags(["evenkey"])
        .time("now-15m", "now")
        .timezone("browser")
        .refresh("5s")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .with_variable(variable)
    )
    for number, (panel, place) in enumerate(zip(PANELS, _places(), strict=True), start=1):
        built.with_panel(_built(panel, source, number, place))
    return built


def dashboards() -> dict[str, str]:
    """Return the text of each dashboard, by file name."""
    runs = {
        "influxdb": 'SHOW TAG VALUES FROM "evenkey_epoch" WITH KEY = "run"',
        "prometheus": "label_values(evenkey_epoch, run)",
    }
    names = {"influxdb": "InfluxDB", "prometheus": "Prometheus"}
    encoder = JSONEncoder(indent=2, sort_keys=True)
    return {
        f"evenkey-{source}.json": encoder.encode(_dashboard(source, names[source], query).build())
        + "\n"
        for source, query in runs.items()
    }


def main(directory: Path) -> None:
    """Write the dashboards into a directory."""
    for name, text in dashboards().items():
        (directory / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
