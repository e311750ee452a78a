"""The page's charts show the figures of the records."""

from __future__ import annotations

import dataclasses

import pytest

from evenkey.dashboard import figures
from evenkey.dashboard.runs import Run, State
from evenkey.exporters import HotKey
from evenkey.pictures import THEMES
from tests.exporters.records import RUN, record

THEME = THEMES["light"]


def run_of(records, grouping="dkg", state="running"):
    return Run(dataclasses.replace(RUN, grouping=grouping), State(state, 0.0), records)


TWO = [run_of([record(0), record(1)], "kg"), run_of([record(0)], "dkg")]


def test_loads_are_over_the_mean():
    kg, dkg = figures.loads(TWO, THEME).data
    assert list(kg.y) == pytest.approx([1.2, 0.8])
    assert (kg.name, dkg.name) == ("kg", "dkg")
    assert kg.marker.color != dkg.marker.color


@pytest.mark.parametrize(
    ("draw", "values"),
    [
        (figures.max_over_mean, [1.4, 1.4]),
        (figures.replication, [1.5, 1.5]),
        (figures.throughput, [100.0, 100.0]),
        (figures.latency, [1.0, 1.0]),
    ],
)
def test_lines_go_over_the_seconds_since_the_start(draw, values):
    kg, _ = draw(TWO, THEME).data
    assert list(kg.x) == pytest.approx([1.5, 2.5])
    assert list(kg.y) == values


def test_hot_keys_lie_on_their_workers():
    kg, dkg = figures.hot_keys(TWO, THEME).data
    assert [list(row) for row in kg.z] == [[62.5, 37.5], [0, 100]]
    assert list(kg.y) == ["1. Turkey 80.0 %", "2. a &quot;b&quot; 2.0 %"]
    assert kg.yaxis != dkg.yaxis


def test_markup_in_keys_is_text():
    hot = HotKey("<a href='x'>b</a>", 10, (0,), (10,))
    (heat,) = figures.hot_keys([run_of([record(0, hottest=(hot,))])], THEME).data
    assert list(heat.y) == ["1. &lt;a href=&#x27;x&#x27;&gt;b&lt;/a&gt; 10.0 %"]


def test_long_runs_are_thinned_and_keep_their_last_epoch():
    records = [record(epoch) for epoch in range(2500)]
    (line,) = figures.latency([run_of(records)], THEME).data
    assert len(line.x) <= 1000
    assert line.customdata[-1] == 2499
    assert line.mode == "lines"


@pytest.mark.parametrize(
    "draw", [figures.loads, figures.latency, figures.hot_keys, figures.replication]
)
def test_a_run_without_an_epoch_has_no_data(draw):
    assert len(draw([run_of([])], THEME).data) == 0
    assert figures.hot_keys_height([run_of([])]) > 0
