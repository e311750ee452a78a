"""Top-k has SpaceSaving's guarantees, for any batches and any order of merges."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.aggregators import TopK
from evenkey.core.errors import ConfigurationError, RunError
from tests.aggregators.naive import naive_weights

KEYS = st.sampled_from("abcdefghijkl")
MESSAGES = st.lists(st.tuples(KEYS, st.integers(0, 9)), max_size=80)
PARTS = st.lists(MESSAGES, min_size=1, max_size=6)
ALL = ()


def table(messages):
    return pa.table(
        {
            "key": pa.array([key for key, _ in messages], pa.string()),
            "size": pa.array([weight for _, weight in messages], pa.int64()),
        }
    )


def in_one_merge(top, partials):
    return top.merge(pa.concat_tables(partials), ALL)


def one_by_one(top, partials):
    merged = partials[0]
    for partial in partials[1:]:
        merged = in_one_merge(top, [merged, partial])
    return merged


@pytest.mark.slow(2)
@pytest.mark.parametrize("merge", [in_one_merge, one_by_one])
@given(st.integers(1, 8), PARTS)
def test_guarantees(merge, capacity, parts):
    top = TopK(capacity, capacity, weight="size")
    merged = merge(top, [top.partial(table(part), ALL) for part in parts])
    truth = naive_weights(message for part in parts for message in part)
    bound = truth.total() / capacity
    rows = top.finish(merged, ALL).to_pylist()
    held = {row["key"]: row for row in rows}
    (floor,) = merged["floor"].to_pylist() or [0]
    assert len(held) == len(rows) <= capacity
    assert floor <= bound
    for key, row in held.items():
        assert row["count"] - row["error"] <= truth[key] <= row["count"]
        assert 0 <= row["error"] <= floor
    for key, weight in truth.items():
        assert key in held or weight <= floor
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    assert rows == sorted(rows, key=lambda row: (-row["count"], row["key"]))


@pytest.mark.slow(7)
@given(st.integers(1, 5), PARTS)
def test_exact_while_keys_are_no_more_than_counters(k, parts):
    top = TopK(k, 12, weight="size")
    merged = in_one_merge(top, [top.partial(table(part), ALL) for part in parts])
    truth = naive_weights(message for part in parts for message in part)
    heaviest = sorted(((-weight, key) for key, weight in truth.items() if weight))[:k]
    rows = top.finish(merged, ALL).to_pylist()
    assert [(-row["count"], row["key"], row["error"]) for row in rows] == [
        (weight, key, 0) for weight, key in heaviest
    ]


def test_windows_stay_apart():
    messages = pa.table({"window": [2, 1, 2, 2, 1], "key": [7, 8, 9, 9, 8]})
    top = TopK(1)
    parts = [top.partial(part, ["window"]) for part in (messages.slice(0, 3), messages.slice(3))]
    merged = top.merge(pa.concat_tables(parts), ["window"])
    assert top.finish(merged, ["window"]).to_pylist() == [
        {"window": 2, "key": 9, "count": 2, "error": 0, "rank": 1},
        {"window": 1, "key": 8, "count": 2, "error": 0, "rank": 1},
    ]


def test_a_merged_key_carries_the_floors_of_the_parts_that_dropped_it():
    top = TopK(3, capacity=3)
    first = top.partial(pa.table({"key": list("aaabbcd")}), ALL)  # d is dropped: floor 1
    second = top.partial(pa.table({"key": list("ddee")}), ALL)  # nothing is dropped
    assert top.finish(in_one_merge(top, [first, second]), ALL).to_pylist() == [
        {"key": "a", "count": 3, "error": 0, "rank": 1},
        {"key": "d", "count": 3, "error": 1, "rank": 2},
        {"key": "e", "count": 3, "error": 1, "rank": 3},
    ]


def test_null_weights_weigh_nothing_and_negative_ones_are_refused():
    top = TopK(2, weight="size")
    messages = pa.table({"key": ["a", "a", "b"], "size": [None, 4, None]})
    assert top.finish(top.partial(messages, ALL), ALL).num_rows == 1
    negative = pa.table({"key": ["a", "a"], "size": [5, -1]})
    with pytest.raises(RunError, match="a weight is -1"):
        top.partial(negative, ALL)


def test_default_capacity():
    assert TopK(10).counters == 1000
    assert TopK(500).counters == 5000
    assert TopK(10, capacity=20).counters == 20


def test_bad_parameters_are_refused():
    with pytest.raises(ConfigurationError, match="k = 0"):
        TopK(0)
    with pytest.raises(ConfigurationError, match="at least k = 5"):
        TopK(5, capacity=4)
    with pytest.raises(ConfigurationError, match="must be an integer column"):
        TopK(5, weight="size").bind(pa.schema([("key", pa.string()), ("size", pa.float64())]))
    with pytest.raises(ConfigurationError, match="no column 'key'"):
        TopK(5).bind(pa.schema([("word", pa.string())]))
    with pytest.raises(ConfigurationError, match="own column 'key'"):
        TopK(5).partial(pa.table({"key": ["a"]}), ["key"])
