"""The charts of the page show the metrics of the records."""

from __future__ import annotations

import dataclasses
import functools

import pytest

from evenkey.core.metrics import FIGURES
from evenkey.pipeline.exporters import HotKey
from evenkey.reports.dashboard import dashboard_charts
from evenkey.reports.dashboard.dashboard_page import CHARTS
from evenkey.reports.dashboard.watched_runs import Run, State
from evenkey.reports.pictures import THEMES
from tests.exporters.records import JOIN, RUN, join_record, record

THEME = THEMES["light"]


def run_of(records, grouping="dkg", state="running"):
    return Run(dataclasses.replace(RUN, grouping=grouping), State(state, 0.0), records)


def over_time(name):
    return functools.partial(dashboard_charts.over_time, shown=FIGURES[name])


TWO = [run_of([record(0), record(1)], "kg"), run_of([record(0)], "dkg")]


def test_loads_are_over_the_mean():
    kg, dkg = dashboard_charts.loads(TWO, THEME).data
    assert list(kg.y) == pytest.approx([1.2, 0.8])
    assert (kg.name, dkg.name) == ("kg", "dkg")
    assert kg.marker.color != dkg.marker.color


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("epoch_max_over_mean", [1.4, 1.4]),
        ("epoch_dist_cost", [1.5, 1.5]),
        ("epoch_messages_per_second", [100.0, 100.0]),
        ("epoch_latency_ms", [1000.0, 1000.0]),
    ],
)
def test_lines_go_over_the_seconds_since_the_start(name, values):
    kg, _ = over_time(name)(TWO, THEME).data
    assert list(kg.x) == pytest.approx([1.5, 2.5])
    assert list(kg.y) == values


def test_hot_keys_are_on_their_workers():
    kg, dkg = dashboard_charts.hot_keys(TWO, THEME).data
    assert [list(row) for row in kg.z] == [[62.5, 37.5], [0, 100]]
    assert list(kg.y) == ["1. Turkey 80.0 %", "2. a &quot;b&quot; 2.0 %"]
    assert kg.yaxis != dkg.yaxis


def test_markup_in_keys_is_text():
    hot = HotKey("<a href='x'>b</a>", 10, (0,), (10,))
    (heat,) = dashboard_charts.hot_keys([run_of([record(0, hottest=(hot,))])], THEME).data
    assert list(heat.y) == ["1. &lt;a href=&#x27;x&#x27;&gt;b&lt;/a&gt; 10.0 %"]


def test_long_runs_are_thinned_and_keep_their_last_epoch():
    records = [record(epoch) for epoch in range(2500)]
    (line,) = over_time("epoch_latency_ms")([run_of(records)], THEME).data
    assert len(line.x) <= 1000
    assert line.customdata[-1] == 2499
    assert line.mode == "lines"


@pytest.mark.parametrize(
    "draw",
    [
        dashboard_charts.loads,
        over_time("epoch_latency_ms"),
        dashboard_charts.hot_keys,
        over_time("mldc"),
    ],
)
def test_a_run_without_an_epoch_has_no_data(draw):
    assert len(draw([run_of([])], THEME).data) == 0
    assert dashboard_charts.hot_keys_height([run_of([])]) > 0


def test_a_line_breaks_where_a_run_was_paused():
    before = [record(epoch) for epoch in range(2)]
    # The run continued an hour later in another process.
    after = [record(2, ended=before[1].ended + 3601.5, makespan_ms=1500.0)]
    after.append(record(3, ended=after[0].ended + 1, makespan_ms=2500.0))
    (line,) = over_time("epoch_max_over_mean")([run_of(before + after)], THEME).data
    assert list(line.x) == pytest.approx([1.5, 2.5, None, 3604, 3605])
    assert list(line.y) == [1.4, 1.4, None, 1.4, 1.4]
    assert list(line.customdata) == [0, 1, None, 2, 3]
    assert not line.connectgaps


def test_a_join_has_its_loads_its_mldc_and_the_threshold():
    run = Run(JOIN, State("running", 0.0), [join_record(epoch) for epoch in range(3)])
    mldc, threshold = over_time("mldc")([run], THEME).data
    assert (list(mldc.y), list(threshold.y)) == ([0.4] * 3, [0.5] * 3)
    assert threshold.line.dash == "dot"
    assert threshold.name == "sps dynamic-lb-stal: MLDC threshold"
    (moved,) = over_time("epoch_moved_partitions")([run], THEME).data
    assert list(moved.y) == [0, 3, 3]
    (loads,) = dashboard_charts.loads([run], THEME).data
    assert list(loads.y) == pytest.approx([1.4, 0.6])
    assert "microseconds" in loads.hovertemplate


def test_a_chart_is_for_the_runs_that_have_its_figure():
    join = Run(JOIN, State("running", 0.0), [join_record(0)])
    shown = {name for name, chart in CHARTS.items() if chart.fits(join)}
    assert {"loads", "mldc", "epoch-static-loads"} <= shown
    assert not {"hot-keys", "epoch-dist-cost"} & shown
    aggregate = {name for name, chart in CHARTS.items() if chart.fits(TWO[0])}
    assert {"loads", "hot-keys", "epoch-dist-cost"} <= aggregate
    assert "mldc" not in aggregate
    assert not any(chart.fits(run_of([])) for chart in CHARTS.values())
