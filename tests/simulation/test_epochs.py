"""Epochs have their own metrics, and do not affect routers that do not plan epochs."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkey.core.metrics import max_over_mean, stddev_percent
from evenkey.simulation import simulate
from tests.simulation.streams import list_streams


@settings(max_examples=30)
@given(
    stream=list_streams(),
    grouping=st.sampled_from(["kg", "pkg"]),
    every=st.integers(1, 70),
    by=st.sampled_from(["messages", "weights"]),
)
def test_epochs(stream, grouping, every, by):
    options = {"workers": 3, "sources": 2, "observe_by": by, "samples": 1000}
    plain = simulate(stream, grouping, **options)
    report = simulate(stream, grouping, **options, epoch_messages=every)
    assert report.series.equals(plain.series)
    assert (report.keys, report.pairs) == (plain.keys, plain.pairs)
    assert report.loads.tolist() == plain.loads.tolist()

    ids = [number for number, *_ in stream.messages]
    epochs = [ids[start : start + every] for start in range(0, len(ids), every)]
    assert [epoch.keys for epoch in report.epochs] == [len(set(each)) for each in epochs]
    assert [epoch.messages for epoch in report.epochs] == [len(each) for each in epochs]
    figures = report.to_json()
    assert figures["epochs"] == len(epochs)
    if len(epochs) == 1:
        (epoch,) = report.epochs
        assert epoch.max_over_mean == max_over_mean(report.loads)
        assert epoch.stddev_percent == stddev_percent(report.loads)
        assert epoch.dist_cost == report.pairs / report.keys
    for name in ("max_over_mean", "stddev_percent", "dist_cost"):
        values = [getattr(epoch, name) for epoch in report.epochs]
        spread = {"p50": np.median(values), "max": max(values)}
        assert figures[f"epoch_{name}"] == spread
