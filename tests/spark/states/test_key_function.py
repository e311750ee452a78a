"""The keys that a function of keyed state gets: floating numbers are equal as in Spark."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from evenkey.spark.states.key_function import KeyFunction
from evenkey.spark.states.reserved_columns import CONTENT, HASH, PARTITION, SLOT

FLOATS = pa.schema([("key", pa.float64()), ("n", pa.int64())])


def count(batch):
    n = batch.states["n"].fill_null(0).to_numpy() + np.bincount(batch.positions)
    states = batch.states.set_column(1, "n", pa.array(n))
    return states, states


def rows_of(*keys):
    """Make rows whose keys all have one hash, as zero and negative zero have in Spark."""
    number = len(keys)
    same = {name: pa.array([0] * number, pa.int32()) for name in (PARTITION, SLOT)}
    columns = {"key": keys, HASH: [5] * number, CONTENT: [*range(number)], **same}
    return pa.table(
        columns,
        pa.schema(
            [
                ("key", pa.float64()),
                (HASH, pa.int64()),
                (CONTENT, pa.int64()),
                (PARTITION, pa.int32()),
                (SLOT, pa.int32()),
            ]
        ),
    )


def test_zeros_of_both_signs_are_one_key_and_so_are_all_nans():
    stored = pa.schema([pa.field(HASH, pa.int64()), *FLOATS])
    function = KeyFunction(
        function=count, keys=("key",), stored=stored, shown=FLOATS, results=FLOATS
    )
    states = function.nothing()
    found = []
    for keys in ((-0.0, float("nan"), None), (0.0, -0.0, float("nan"), None)):
        called = function(states, rows_of(*keys), None)
        states = called.states
        found.append(sorted(str(tuple(row.values())) for row in called.results.to_pylist()))
    assert found == [
        ["(0.0, 1)", "(None, 1)", "(nan, 1)"],
        ["(0.0, 3)", "(None, 2)", "(nan, 2)"],
    ]
    assert states.table.num_rows == 3
