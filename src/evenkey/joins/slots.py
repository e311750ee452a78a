"""Slots: worker slots as Spark partitions that come back to where they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey.joins.partition_join import SLOT
from evenkey.spark.place import place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["CLUSTER_SETTINGS", "on_slots"]

CLUSTER_SETTINGS = {
    # A slot waits for its executor rather than starting elsewhere, with nothing cached.
    "spark.locality.wait": "30s",
    # Else Spark prefers where most of a slot's shuffled rows lie.
    "spark.shuffle.reduceLocality.enabled": "false",
}
"""Settings of a session in which slots stay where they are."""


def on_slots(df: DataFrame, workers: int, *, stay: bool) -> DataFrame:
    """Bring each row to the Spark partition of its slot.

    Parameters
    ----------
    df
        With the int column `SLOT`.
    workers
        How many slots, W.
    stay
        Whether each slot should come back to the same executor in every epoch. It does on a
        cluster with `CLUSTER_SETTINGS`: slots are joined to a cached row each, and Spark
        takes the task to where that row lies. A local master has one place only.
    """
    placed = place(df, workers, column=SLOT)
    if not stay or _local(df):
        return placed
    session = df.sparkSession
    anchor = session.range(workers).select(F.col("id").cast("int").alias(SLOT))
    anchor = anchor.repartitionById(workers, F.col(SLOT)).cache()
    # Now, and not by the first epoch's tasks, which take differently long: so that slots lie
    # evenly over the executors.
    anchor.count()
    return placed.join(anchor.hint("shuffle_hash"), SLOT)


def _local(df: DataFrame) -> bool:
    master = df.sparkSession.sparkContext.master or "local"
    return master == "local" or master.startswith("local[")
