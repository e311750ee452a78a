"""Slots: Spark partitions that run on the same executor in every epoch."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey.spark.routing.to_workers import place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

_MARK = "EVENKEY_JOIN"


def on_slots(df: DataFrame, workers: int, column: str, *, stay: bool) -> DataFrame:
    """Bring each row to the Spark partition of its slot.

    Parameters
    ----------
    df
        Rows.
    workers
        Number of slots, W.
    column
        Int column with the slot of each row.
    stay
        Whether each slot should run on the same executor in every epoch. On a cluster, this needs
        the settings `evenkey.joins.CLUSTER_SETTINGS`: the rows of each slot are joined to a cached
        row, and Spark runs the slot's task on the executor that has cached this row. A local master
        has only one executor.
    """
    placed = place(df, workers, column=column)
    if not stay or _local(df):
        return placed
    session = df.sparkSession
    anchor = session.range(workers).select(F.col("id").cast("int").alias(column))
    anchor = anchor.repartitionById(workers, F.col(column)).cache()
    # Fill the cache now. If the tasks of the first epoch filled it, executors with short tasks
    # would get more slots than others.
    anchor.count()
    return placed.join(anchor.hint("shuffle_hash"), column)


@contextlib.contextmanager
def own_processes(df: DataFrame) -> Iterator[None]:
    """Run the Python functions that are defined in this context in separate worker processes.

    Spark has a pool of Python processes for each set of environment variables, so this function
    sets a variable. Otherwise a joining task would take any idle process of its executor, such as a
    process that has only read the stream so far and holds no static partition. A local master has
    one pool for all slots, so a second pool would only double the processes. A Connect client
    cannot set environment variables. Over Connect, a joining task therefore takes any idle process
    of its executor, and partitions may be loaded more often (decision 133).
    """
    context = getattr(df.sparkSession, "_sc", None)
    if context is None or _local(df):
        yield
        return
    environment = context.environment
    environment[_MARK] = "1"
    try:
        yield
    finally:
        del environment[_MARK]


def _local(df: DataFrame) -> bool:
    master = df.sparkSession.conf.get("spark.master", "local") or "local"
    return master == "local" or master.startswith("local[")
