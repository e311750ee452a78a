"""Tally counts values, and the result does not depend on the batches."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.aggregators import Tally
from evenkey.core.errors import ConfigurationError

MESSAGES = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([None, "x", "y", "z"])), max_size=60
)


def table(messages):
    columns = {"key": [key for key, _ in messages], "label": [label for _, label in messages]}
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


@pytest.mark.slow(3)
@given(st.lists(MESSAGES, min_size=1, max_size=5))
def test_counts_are_those_of_a_counter(parts):
    tally = Tally("label")
    partials = pa.concat_tables(tally.partial(table(part), ["key"]) for part in parts)
    rows = tally.finish(tally.merge(partials, ["key"]), ["key"]).to_pylist()
    truth = Counter(message for part in parts for message in part if message[1] is not None)
    assert {(row["key"], row["value"]): row["count"] for row in rows} == truth
    assert len(rows) == len(truth)


def test_a_state_lists_values_in_order():
    messages = pa.table({"key": ["a", "a", "a"], "label": [3, 1, 3]})
    tally = Tally("label").bind(messages.schema)
    state = tally.partial(messages, [])
    assert state.to_pylist() == [{"values": [1, 3], "counts": [1, 2]}]
    assert state.schema == tally.state


def test_a_missing_column_is_refused():
    with pytest.raises(ConfigurationError, match="no column 'label'"):
        Tally("label").bind(pa.schema([("key", pa.string())]))
