"""Give each row its piece and its worker, and move the rows in one shuffle of Spark's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey.groupings import PlannedGrouping
from evenkey.spark.keys.given_columns import OWN
from evenkey.spark.plans.lookup import HASH, PLACE, plan_words, with_dealt, with_places
from evenkey.spark.routing.to_workers import split_column
from evenkey.spark.windows.sort_orders import fields_of, is_less

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from evenkey.spark.groups.group_keys import Keys
    from evenkey.spark.plans.plan_source import Fixed
    from evenkey.spark.windows.order_cuts import CutArrays, Cuts
    from evenkey.spark.windows.sort_orders import SortOrder

PIECE = f"{OWN}piece"
"""Number of a row's piece, from 1 on: in the order of the window within a key, and different for
all keys. Rows of cold keys have 0."""
SPLIT = f"{OWN}piece_split"
"""A number that determines the worker of a row. Pieces of one key are on different workers, so the
key and this number determine the piece."""
_WORKER, _HOT, _AT, _STEP = (f"{OWN}piece_{name}" for name in ("worker", "hot", "at", "step"))


def with_pieces(
    hashed: DataFrame, orders: Sequence[SortOrder], cuts: Cuts, arrays: CutArrays
) -> DataFrame:
    """Add the column `PIECE` to rows with the column `HASH`.

    A binary search finds the piece: each step is a column, and compares with one value. Written as
    one expression, the steps would double in size each time. So they would if Spark moved a filter
    below them, or inferred filters from them. It does neither with columns that are not
    deterministic, so each step asks for the number of the task, which changes nothing.
    """
    at = {f"{_AT}_{number}": field for number, field in enumerate(fields_of(orders))}
    # A cold key has no hash here, and compares as null.
    found = hashed.withColumns({_HOT: F.when(is_hot(cuts), F.col(HASH)), **at})
    values = [F.col(name) for name in at]
    step = 1 << (len(cuts.workers).bit_length() - 1)
    number: Column = F.lit(0)
    steps = []
    while step:
        other = number + F.lit(step - 1)
        hash_, after = F.get(arrays.hashes, other), [F.get(each, other) for each in arrays.after]
        lower = (hash_ < F.col(_HOT)) | ((hash_ == F.col(_HOT)) & is_less(after, values))
        moved = F.when(lower & (F.spark_partition_id() >= 0), number + F.lit(step))
        steps.append(f"{_STEP}_{step}")
        found = found.withColumn(steps[-1], moved.otherwise(number))
        number, step = F.col(steps[-1]), step // 2
    return found.withColumn(PIECE, number).drop(_HOT, *at, *steps)


def is_hot(cuts: Cuts) -> Column:
    """Return whether a row belongs to a key that is cut, from the column `HASH`."""
    return F.col(HASH).isin(cuts.hashes)


def exchanged(rows: DataFrame, keys: Keys, plan: Fixed, cuts: Cuts, workers: int) -> DataFrame:
    """Add the column `SPLIT`, and move each row to the partition of its worker.

    A window over the key and `SPLIT` needs no other shuffle, and adaptive execution does not change
    a shuffle with a given number of partitions.
    """
    grouping = PlannedGrouping()
    rows, words = plan_words(rows, grouping, workers, plan)
    placed = with_places(rows, F.col(HASH), words, grouping.bucket_count(workers), workers)
    placed = with_dealt(placed, words, _WORKER, F.lit(0))
    of_pieces = F.array(*(F.lit(int(worker)) for worker in cuts.workers))
    worker = F.when(F.col(PIECE) > 0, F.get(of_pieces, F.col(PIECE) - 1))
    placed = placed.withColumn(_WORKER, worker.otherwise(F.col(_WORKER)))
    split = split_column(F.col(_WORKER), keys.columns, workers)
    placed = placed.withColumn(SPLIT, split).drop(PLACE, _WORKER)
    return placed.repartition(workers, *keys.columns, SPLIT)
