"""The keyed join of a partition equals comparing every pair."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.joins.matching import by_key as keyed
from evenkey.joins.matching.by_key import KeyedJoin
from evenkey.joins.matching.partition_join import HASH
from tests.joins.naive import keyed_join

few = st.integers(0, 3) | st.none()
rows_of_stream = st.lists(st.fixed_dictionaries({"k": few, "t": few, "x": few}), max_size=12)
rows_of_static = st.lists(st.fixed_dictionaries({"k": few, "t": few, "y": few}), max_size=12)


def table(rows, columns):
    # Different keys have equal hashes on purpose, so the keys themselves must be compared.
    arrays = {name: pa.array([row[name] for row in rows], pa.int64()) for name in columns}
    hashes = [((row["k"] or 0) + (row["t"] or 0)) % 3 for row in rows]
    return pa.table({**arrays, HASH: pa.array(hashes, pa.int64())})


def counted(rows):
    return Counter(tuple(sorted(row.items())) for row in rows)


@pytest.mark.slow(2)
@given(rows_of_stream, rows_of_static, st.sampled_from(["inner", "left"]), st.integers(1, 40))
def test_equal_to_comparing_every_pair(stream, static, how, pairs):
    join = KeyedJoin(("k", "t"), ("x",), how)
    prepared = join.prepare(table(static, ["k", "t", "y"]).sort_by(HASH), 0)
    before, keyed._PAIRS = keyed._PAIRS, pairs
    try:
        found = list(join.match(prepared, table(stream, ["k", "t", "x"])))
    finally:
        keyed._PAIRS = before
    rows = [row for piece in found for row in piece.to_pylist()]
    static_rows = static or [{"k": -1, "t": -1, "y": None}]
    assert counted(rows) == counted(keyed_join(stream, static_rows, ("k", "t"), how))
    assert all(piece.column_names == ["k", "t", "x", "y"] for piece in found)
