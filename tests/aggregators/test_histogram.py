"""The histogram aggregator: quantiles of groups, and the arguments that it rejects."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.aggregators import Histogram
from evenkey.core.errors import ConfigurationError, RunError

VALUES = st.lists(st.one_of(st.floats(-50, 50), st.integers(-3, 3).map(float)), max_size=40)


def result(histogram, parts, by=()):
    partials = [histogram.partial(part, by) for part in parts]
    return histogram.finish(histogram.merge(pa.concat_tables(partials), by), by)


def table(values):
    return pa.table({"key": pa.nulls(len(values)), "value": pa.array(values, pa.float64())})


@pytest.mark.slow(4)
@given(st.lists(VALUES, min_size=1, max_size=6), st.integers(2, 6))
def test_ranks_of_the_points_are_certain_in_any_cut(parts, bins):
    histogram = Histogram("value", bins)
    values = np.array([value for part in parts for value in part])
    forth = result(histogram, [table(part) for part in parts])
    assert forth == result(histogram, [table(part) for part in parts[::-1]])
    for row in forth.to_pylist():
        ranks = [(values <= point).sum() for point in row["points"]]
        assert len(row["points"]) == 3
        assert (np.array(row["ranks_from"]) <= ranks).all()
        assert (ranks <= np.array(row["ranks_to"])).all()
        assert sum(row["weights"]) == len(values)
        assert len(row["weights"]) <= bins


def test_quantiles_of_groups_and_nulls():
    messages = pa.table(
        {"key": ["a", "b", "a", "a", "c", "a"], "value": [4, 7, 1, 2, None, None]},
    )
    rows = result(Histogram("value", parts=2), [messages], ["key"]).to_pylist()
    assert {row["key"]: row["points"] for row in rows} == {"a": [2.0], "b": [7.0], "c": []}


def test_median_of_many_parts_is_close_to_the_exact_one():
    values = np.random.default_rng(3).lognormal(size=20_000)
    parts = [table(part) for part in np.array_split(values, 13)]
    (row,) = result(Histogram("value", parts=2), parts).to_pylist()
    assert abs((values <= row["points"][0]).mean() - 0.5) < 0.03


def test_bad_columns_and_values_are_refused():
    with pytest.raises(ConfigurationError, match="bins = 1"):
        Histogram("value", bins=1)
    with pytest.raises(ConfigurationError, match="parts = 0"):
        Histogram("value", parts=0)
    with pytest.raises(ConfigurationError, match="must hold numbers"):
        Histogram("key").bind(pa.schema([("key", pa.string())]))
    with pytest.raises(RunError, match="value nan"):
        Histogram("value").partial(table([1.0, float("nan")]), ())


def test_one_part_needs_no_points():
    (row,) = result(Histogram("value", parts=1), [table([4.0, 1.0])]).to_pylist()
    assert (row["positions"], row["weights"]) == ([1.0, 4.0], [1.0, 1.0])
    assert (row["points"], row["ranks_from"], row["ranks_to"]) == ([], [], [])


@pytest.mark.parametrize("name", ["positions", "weights", "lows", "highs", "points", "ranks_to"])
def test_keys_named_as_the_result_are_refused(name):
    messages = pa.table({name: ["a"], "value": [1.0]})
    with pytest.raises(ConfigurationError, match=f"its own column '{name}'"):
        Histogram("value").partial(messages, [name])


def test_many_keys_of_few_values_need_little_memory():
    keys = np.arange(20_000) // 2
    messages = pa.table({"key": keys, "value": np.arange(20_000.0)})
    # A full histogram for every key would take 300 GB.
    histogram = Histogram("value", bins=1 << 20)
    partial = histogram.partial(messages, ["key"])
    assert partial.num_rows == 10_000
    assert partial.nbytes < 50 * messages.num_rows
    assert histogram.merge(partial, ["key"]).num_rows == 10_000
