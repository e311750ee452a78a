"""Heavy hitters: the error of a key has one term for each worker that may hold the key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.aggregators import WORKER, HeavyHitters
from evenkey.core.errors import ConfigurationError
from evenkey.core.hashing import hash_strings
from evenkey.core.streams import Zipf
from evenkey.groupings import parse
from tests.aggregators.naive import naive_weights

WORKERS = 6
MESSAGES = st.lists(
    st.tuples(st.sampled_from("abcdefghijkl"), st.integers(0, 9), st.integers(0, 3)), max_size=80
)
ALL = ()


def table(messages):
    columns = zip(*messages, strict=True) if messages else ([], [], [])
    types = (pa.string(), pa.int64(), pa.int32())
    arrays = [pa.array(list(each), kind) for each, kind in zip(columns, types, strict=True)]
    return pa.Table.from_arrays(arrays, names=["key", "size", WORKER])


def naive(hitters, summaries):
    """Add up a key's counts in the summaries, and the largest floors of those that lack it."""
    result = {}
    for key in {key for each in summaries for key in each["keys"]}:
        lists = [each for each in summaries if key in each["keys"]]
        floors = sorted((each["floor"] for each in summaries if each not in lists), reverse=True)
        left = len(summaries) if hitters.choices is None else hitters.choices
        floors = [floor for floor in floors[: max(left - len(lists), 0)] if floor]
        count, error = sum(floors), sum(floors)
        for each in lists:
            count += each["counts"][each["keys"].index(key)]
            error += each["errors"][each["keys"].index(key)]
        result[key] = (count, error, len(lists) + len(floors))
    return result


@pytest.mark.slow(6)
@given(st.integers(1, 8), st.sampled_from([1, 2, 3, None]), st.lists(MESSAGES, min_size=1))
def test_sums_are_those_of_a_naive_twin(capacity, choices, parts):
    hitters = HeavyHitters(capacity, capacity, choices, weight="size")
    partials = pa.concat_tables(hitters.partial(table(part), ALL) for part in parts)
    merged = hitters.merge(partials, ALL)
    rows = hitters.finish(merged, ALL).to_pylist()
    summaries = [each for state in merged["summaries"].to_pylist() for each in state]
    assert all(len(each["keys"]) <= capacity for each in summaries)
    assert len({each[WORKER] for each in summaries}) == len(summaries)
    truth = naive(hitters, summaries)
    assert {row["key"]: (row["count"], row["error"], row["terms"]) for row in rows} == {
        key: truth[key] for key in [row["key"] for row in rows]
    }
    order = sorted(truth, key=lambda key: (-truth[key][0], key))
    assert [row["key"] for row in rows] == order[:capacity]


@pytest.mark.slow(8)
@given(st.integers(1, 8), st.lists(MESSAGES, min_size=1))
def test_guarantees_if_a_key_can_be_anywhere(capacity, parts):
    hitters = HeavyHitters(capacity, capacity, weight="size")
    merged = hitters.merge(
        pa.concat_tables(hitters.partial(table(part), ALL) for part in parts), ALL
    )
    truth = naive_weights((key, size) for part in parts for key, size, _ in part)
    for row in hitters.finish(merged, ALL).to_pylist():
        assert row["count"] - row["error"] <= truth[row["key"]] <= row["count"]


@pytest.mark.parametrize(("grouping", "choices"), [("kg", 1), ("pkg", 2), ("sg", None)])
def test_a_key_has_as_many_error_terms_as_workers(grouping, choices):
    """The paper's section 4.2: one term under kg, two under pkg, W under sg."""
    stream = Zipf(1.0, 3000, messages=20_000)
    texts = stream.texts(stream.ids(0, 20_000))
    router = parse(grouping).router(WORKERS)
    workers = router.route(hash_strings(texts), np.zeros(20_000))
    messages = pa.table({"key": texts, WORKER: workers})
    hitters = HeavyHitters(50, capacity=100, choices=choices)
    parts = [hitters.partial(messages.slice(start, 4000), ALL) for start in range(0, 20_000, 4000)]
    merged = hitters.merge(pa.concat_tables(parts), ALL)
    rows = hitters.finish(merged, ALL).to_pylist()
    truth = naive_weights((key, 1) for key in texts.to_pylist())
    loads = np.bincount(workers, minlength=WORKERS)
    most = choices or WORKERS
    # The error of a worker is at most its messages divided by the counters of its summary.
    bound = np.sort(loads / 100)[-most:].sum()
    for row in rows:
        assert row["count"] - row["error"] <= truth[row["key"]] <= row["count"]
        assert row["terms"] <= most
        assert row["error"] <= bound
    assert {row["key"] for row in rows} >= {key for key, seen in truth.items() if seen > bound}
    floors = [each["floor"] for each in merged["summaries"][0].as_py()]
    assert all(floor <= load / 100 for floor, load in zip(floors, loads, strict=True))
    assert max(row["terms"] for row in rows) == most


def test_bad_parameters_are_refused():
    with pytest.raises(ConfigurationError, match="choices = 0"):
        HeavyHitters(choices=0)
    with pytest.raises(ConfigurationError, match="heavy-hitters: capacity = 4"):
        HeavyHitters(5, capacity=4)
    with pytest.raises(ConfigurationError, match="no column '__worker'"):
        HeavyHitters().bind(pa.schema([("key", pa.string())]))
