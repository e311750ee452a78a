"""The charts of the page show the metrics of the records."""

from __future__ import annotations

import dataclasses
import functools

import pytest

from evenkey.core.metrics import FIGURES
from evenkey.pipeline.exporters import HotKey
from evenkey.reports.dashboard import dashboard_charts, heat_maps
from evenkey.reports.dashboard.dashboard_page import CHARTS
from evenkey.reports.dashboard.watched_runs import Run, State
from evenkey.reports.pictures import GROUPINGS, THEMES
from tests.exporters.records import JOIN, RUN, closing_record, join_record, record

THEME = THEMES["light"]


def run_of(records, grouping="dkg", state="running"):
    return Run(dataclasses.replace(RUN, grouping=grouping), State(state, 0.0), records)


def over_time(name):
    return functools.partial(dashboard_charts.over_time, shown=FIGURES[name])


TWO = [run_of([record(0), record(1)], "kg"), run_of([record(0)], "dkg")]


def loads(runs, figure="loads"):
    return dashboard_charts.loads(runs, THEME, figure).data


@pytest.mark.parametrize(
    ("figure", "ratios", "held"),
    [("loads", [1.2, 0.8], [120, 80]), ("epoch_loads", [1.4, 0.6], [70, 30])],
)
def test_loads_are_over_the_mean(figure, ratios, held):
    runs = [run_of([record(0), record(1, epoch_loads=(70, 30)), closing_record(2)])]
    (bars,) = loads(runs, figure)
    assert list(bars.y) == pytest.approx(ratios)
    assert list(bars.customdata) == held


def test_runs_have_their_own_colours():
    kg, dkg = loads(TWO)
    assert (kg.name, dkg.name) == ("kg", "dkg")
    assert kg.marker.color != dkg.marker.color


@pytest.mark.parametrize("order", [1, -1])
def test_a_grouping_has_its_colour_wherever_it_stands(order):
    found = {each.name: each.marker.color for each in loads(TWO[::order])}
    assert found == {name: THEME.runs[GROUPINGS[name]] for name in ("kg", "dkg")}


def test_runs_of_one_grouping_have_different_colours():
    runs = [run_of([record(0)], name) for name in ("pkg", "pkg(choices=3)", "pkg", "kg")]
    colours = [each.marker.color for each in loads(runs)]
    assert len(set(colours)) == len(runs)
    assert [colours[0], colours[3]] == [THEME.runs[GROUPINGS[name]] for name in ("pkg", "kg")]
    # The other runs get colours that are left, so the line of a run has the colour of its bars.
    lines = over_time("epoch_dist_cost")(runs, THEME).data
    assert [each.line.color for each in lines] == colours


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("epoch_max_over_mean", [1.4, 1.4]),
        ("epoch_dist_cost", [1.5, 1.5]),
        ("epoch_messages_per_second", [100.0, 100.0]),
        ("epoch_duration_ms", [1000.0, 1000.0]),
    ],
)
def test_lines_go_over_the_seconds_since_the_start(name, values):
    kg, _ = over_time(name)(TWO, THEME).data
    assert list(kg.x) == pytest.approx([1.5, 2.5])
    assert list(kg.y) == values


@pytest.mark.parametrize(
    ("name", "least"),
    [("epoch_max_over_mean", 1), ("epoch_dist_cost", 1), ("epoch_stddev_percent", 0)],
)
def test_axes_start_at_the_lowest_possible_value(name, least):
    axis = over_time(name)(TWO, THEME).layout.yaxis
    start, end = axis.range
    highest = max(record(0)[name], record(1)[name])
    assert start == axis.tick0 == least
    assert end > highest
    assert 2 <= (end - start) / axis.dtick <= 6


def test_an_axis_is_not_empty_if_all_values_are_the_lowest():
    balanced = [run_of([record(0, epoch_max_over_mean=1.0)])]
    assert over_time("epoch_max_over_mean")(balanced, THEME).layout.yaxis.range == (1, 1.5)


def test_loads_of_all_epochs_are_a_heat_map():
    records = [record(0), record(1, epoch_loads=(20, 20, 50)), closing_record(2)]
    figure = heat_maps.LOADS.draw([run_of(records)], THEME)
    (heat,) = figure.data
    assert list(heat.x) == [0, 1]  # closing windows is no load
    assert [list(row) for row in heat.z] == [
        pytest.approx([1.2, 20 / 30]),
        pytest.approx([0.8, 20 / 30]),
        [None, pytest.approx(50 / 30)],  # the run continued with a third worker
    ]
    assert list(heat.text[0]) == ["60", "20"]
    scale = figure.layout.coloraxis
    assert (scale.cmin, scale.cmax) == (0, 1.4)
    assert "mean load" in figure.layout.title.text


def test_hot_keys_are_shaded_by_their_share_of_the_load_of_the_worker():
    figure = heat_maps.HOT_KEYS.draw([*TWO[:1], run_of([record(0), closing_record(1)])], THEME)
    kg, dkg = figure.data
    assert [list(row) for row in kg.z] == [
        pytest.approx([100 * 50 / 60, 100 * 30 / 40]),
        pytest.approx([0, 5]),
    ]
    assert list(kg.text[1]) == ["0 (0.0 % of the key)", "2 (100.0 % of the key)"]
    assert list(kg.y) == ["1. Turkey 80.0 %", "2. a &quot;b&quot; 2.0 %"]
    assert kg.yaxis != dkg.yaxis
    scale = figure.layout.coloraxis
    assert (scale.cmin, scale.cmax) == (0, 100)
    assert [each.text for each in figure.layout.annotations] == ["kg, epoch 1", "dkg, epoch 0"]


def test_markup_in_keys_is_text():
    hot = HotKey("<a href='x'>b</a>", 10, (0,), (10,), 1)
    (heat,) = heat_maps.HOT_KEYS.draw([run_of([record(0, hottest=(hot,))])], THEME).data
    assert list(heat.y) == ["1. &lt;a href=&#x27;x&#x27;&gt;b&lt;/a&gt; 10.0 %"]


def test_partitions_are_on_their_owners_and_moves_are_marked():
    run = Run(JOIN, State("running", 0.0), [join_record(epoch) for epoch in range(3)])
    figure = heat_maps.OWNERS.draw([run], THEME)
    assert figure.layout.yaxis.range == (7.5, -0.5)
    heat, moves = figure.data
    assert (list(heat.x), list(heat.y)) == ([0, 1, 2], list(range(8)))
    assert [list(row) for row in heat.z][:4] == [[0, 0, 0], [1, 1, 1], [0, 1, 1], [1, 1, 1]]
    assert list(heat.text[0]) == ["0", "", ""]
    assert list(heat.text[2]) == ["0", "1", ""]
    assert (list(moves.x), list(moves.y)) == ([0.5], [2])
    assert list(moves.text) == ["before epoch 1, partition 2 moved from worker 0 to worker 1"]


def test_each_worker_has_its_own_colour_on_the_map_of_owners():
    run = Run(dataclasses.replace(JOIN, workers=3), State("running", 0.0), [join_record(0)])
    scale = heat_maps.OWNERS.draw([run], THEME).layout.coloraxis
    assert (scale.cmin, scale.cmax, scale.colorbar.dtick) == (-0.5, 2.5, 1)
    assert [colour for _, colour in scale.colorscale[::2]] == list(THEME.runs[:3])


def test_of_many_partitions_those_that_moved_are_shown():
    before, after = [0] * 100, [0] * 100
    after[70] = after[90] = 1
    records = [
        dataclasses.replace(join_record(epoch), owners=tuple(owners))
        for epoch, owners in enumerate((before, after))
    ]
    still = Run(JOIN, State("running", 0.0), records[:1])
    moving = Run(JOIN, State("running", 0.0), records)
    figure = heat_maps.OWNERS.draw([still, moving], THEME)
    first, second, marks = figure.data
    assert (list(first.y), list(second.y)) == (list(range(64)), [70, 90])
    assert list(marks.y) == [70, 90]
    assert [each.text for each in figure.layout.annotations] == [
        "sps dynamic-lb-stal: 64 of 100 partitions",
        "sps dynamic-lb-stal: 2 of 100 partitions (moved)",
    ]


def test_long_runs_are_thinned_and_keep_their_last_epoch():
    records = [record(epoch) for epoch in range(2500)]
    (line,) = over_time("epoch_duration_ms")([run_of(records)], THEME).data
    assert len(line.x) <= 1000
    assert line.customdata[-1] == 2499
    assert line.mode == "lines"


@pytest.mark.parametrize(
    "draw",
    [
        functools.partial(dashboard_charts.loads, figure="loads"),
        over_time("epoch_duration_ms"),
        heat_maps.LOADS.draw,
        heat_maps.HOT_KEYS.draw,
        heat_maps.OWNERS.draw,
        over_time("mldc"),
    ],
)
def test_a_run_without_an_epoch_has_no_data(draw):
    assert len(draw([run_of([])], THEME).data) == 0
    assert heat_maps.HOT_KEYS.height([run_of([])]) > 0


def test_a_line_breaks_where_a_run_was_paused():
    before = [record(epoch) for epoch in range(2)]
    # The run continued an hour later in another process; the hour is not in its makespan.
    after = [record(2, ended=before[1].ended + 3601.5, makespan_ms=4000.0)]
    after.append(record(3, ended=after[0].ended + 1, makespan_ms=5000.0))
    (line,) = over_time("epoch_max_over_mean")([run_of(before + after)], THEME).data
    assert list(line.x) == pytest.approx([1.5, 2.5, None, 3604, 3605])
    assert list(line.y) == [1.4, 1.4, None, 1.4, 1.4]
    assert list(line.customdata) == [0, 1, None, 2, 3]
    assert not line.connectgaps


def test_a_join_has_its_loads_its_mldc_and_the_threshold():
    run = Run(JOIN, State("running", 0.0), [join_record(epoch) for epoch in range(3)])
    mldc, threshold = over_time("mldc")([run], THEME).data
    assert (list(mldc.y), list(threshold.y)) == ([0.4] * 3, [0.5] * 2)
    assert list(threshold.x) == [mldc.x[0], mldc.x[-1]]
    assert threshold.line.dash == "dot"
    assert threshold.line.color != mldc.line.color
    assert (threshold.name, threshold.showlegend) == ("MLDC threshold 0.50", True)
    (moved,) = over_time("epoch_moved_partitions")([run], THEME).data
    assert list(moved.y) == [0, 3, 3]
    (bars,) = loads([run])
    assert list(bars.y) == pytest.approx([1.4, 0.6])
    assert "microseconds" in bars.hovertemplate


def test_runs_share_the_line_of_a_limit_that_is_the_same():
    one, other = (
        Run(dataclasses.replace(JOIN, grouping=name), State("running", 0.0), records)
        for name, records in (
            ("one", [join_record(0), join_record(1)]),
            ("other", [join_record(0, mldc_threshold=0.25)]),
        )
    )
    limits = [
        [each.name for each in over_time("mldc")(runs, THEME).data if each.showlegend]
        for runs in ([one, one], [one, other])
    ]
    assert limits == [
        ["MLDC threshold 0.50"],
        ["one: MLDC threshold 0.50", "other: MLDC threshold 0.25"],
    ]


def test_a_chart_is_for_the_runs_that_have_its_figure():
    join = Run(JOIN, State("running", 0.0), [join_record(0)])
    shown = {name for name, chart in CHARTS.items() if chart.fits(join)}
    assert {"loads", "epoch-loads", "load-map", "mldc", "owners"} <= shown
    assert not {"hot-keys", "epoch-dist-cost", "state-rows"} & shown
    aggregate = {name for name, chart in CHARTS.items() if chart.fits(TWO[0])}
    assert {"loads", "hot-keys", "epoch-dist-cost", "lag", "state-rows"} <= aggregate
    assert not {"mldc", "owners"} & aggregate
    # Values that are all 0 need no chart: the card shows them.
    assert "epoch-late" in aggregate
    assert not CHARTS["epoch-late"].fits(run_of([record(0)]))
    assert not any(chart.fits(run_of([])) for chart in CHARTS.values())
