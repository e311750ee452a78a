"""Histograms by leaf and class pass the checks of aggregators, and have the right cells."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from evenkey.aggregators import Histogram
from evenkey.applications.trees.leaf_histograms import LeafHistograms
from evenkey.checks.aggregators import sample_messages, yield_aggregator_checks

RANDOM = np.random.default_rng(1)


def messages():
    sample = sample_messages(Histogram("value"))
    count = sample.num_rows
    columns = {
        "leaf": pa.array(RANDOM.integers(0, 4, count), pa.int32()),
        "label": [f"class {number}" for number in RANDOM.integers(0, 3, count)],
        "value": RANDOM.integers(0, 50, count).astype(float),
    }
    columns = {name: sample[name] for name in ("window", "key")} | columns
    return pa.table(columns)


def agree_in_weight(whole, cut):
    """Compare cells and weights only: if bins are few, their positions depend on the batches."""

    def weights(table):
        return {
            (row.get("window"), row.get("key"), cell["leaf"], cell["label"]): sum(cell["weights"])
            for row in table.to_pylist()
            for cell in row["histograms"]
        }

    assert weights(whole) == weights(cut)


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{bins}-{name}")
        for bins, same in ((64, None), (4, agree_in_weight))
        for name, check in yield_aggregator_checks(LeafHistograms(bins), messages(), same)
        # This aggregator is a part of the decision tree and has no spelling.
        if name != "check_spelling_round_trip"
    ],
)
def test_conformance(check):
    check()


def test_cells_are_the_histograms_of_their_messages():
    table = messages()
    aggregator = LeafHistograms(8)
    cells = aggregator.cells(aggregator.partial(table, ["key"]), ["key"])
    whole = Histogram("value", bins=8).partial(table, ["key", "leaf", "label"])
    order = [(name, "ascending") for name in ("key", "leaf", "label")]
    assert cells.sort_by(order).to_pylist() == whole.sort_by(order).to_pylist()
    listed = cells.filter(pa.compute.equal(cells["key"], "key 1"))
    places = [(row["leaf"], row["label"]) for row in listed.to_pylist()]
    assert places == sorted(places)
