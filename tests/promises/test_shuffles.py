"""After `place` an operator by worker needs no further shuffle."""

from __future__ import annotations

import contextlib
import io

import pytest
from pyspark.sql import functions as F

from evenkey import spark as eks

WORKERS = 4


def shuffles_of(df):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        df.explain()
    return printed.getvalue().count("Exchange ")


@pytest.mark.parametrize("grouping", ["pkg", "planned"])
def test_the_next_operator_by_worker_needs_no_further_shuffle(session, grouping):
    rows = session.range(400).select((F.col("id") % 50).cast("string").alias("key"), "id")
    placed = eks.place(eks.route(rows, "key", grouping, WORKERS), WORKERS)
    assert shuffles_of(placed) == 1
    assert shuffles_of(placed.groupBy("worker").count()) == 1
    # evenkey's joins do this in each epoch to keep the rows of a worker on its executor.
    anchor = session.range(WORKERS).select(F.col("id").cast("int").alias("worker"))
    anchor = anchor.repartitionById(WORKERS, "worker")
    assert shuffles_of(placed.join(anchor.hint("shuffle_hash"), "worker")) == 2  # one per side
    # Placement by another column, by Spark itself, needs a shuffle.
    assert shuffles_of(rows.repartition(WORKERS, "key").groupBy("id").count()) == 2
