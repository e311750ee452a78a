"""Give each row its piece and its worker, and move the rows in one shuffle of Spark's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyspark.sql import functions as F

from evenkey.groupings import PlannedGrouping
from evenkey.spark.keys.given_columns import OWN
from evenkey.spark.plans.lookup import HASH, PLACE, plan_words, with_dealt, with_places
from evenkey.spark.routing.to_workers import split_column
from evenkey.spark.windows.order_cuts import piece_of, type_of_piece
from evenkey.spark.windows.sort_orders import as_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from evenkey.spark.groups.group_keys import Keys
    from evenkey.spark.plans.plan_source import Fixed
    from evenkey.spark.windows.order_cuts import Cuts
    from evenkey.spark.windows.sort_orders import SortOrder

PIECE = f"{OWN}piece"
"""Number of a row's piece, from 1 on: in the order of the window within a key, and different for
all keys. Rows of cold keys have 0."""
SPLIT = f"{OWN}piece_split"
"""A number that determines the worker of a row. Pieces of one key are on different workers, so the
key and this number determine the piece."""
_WORKER, _WANTED, _STEP = (f"{OWN}piece_{name}" for name in ("worker", "wanted", "step"))


def with_pieces(
    frame: DataFrame, hashed: Column, orders: Sequence[SortOrder], cuts: Cuts
) -> DataFrame:
    """Add the columns `HASH` and `PIECE`.

    A binary search finds the piece: each step is a column, and compares with one value. Written as
    one expression, the steps would double in size each time.
    """
    at = as_one(orders)
    of_order = frame.select(at.alias("at")).schema["at"].dataType
    kind = type_of_piece(cast("StructType", of_order))
    pieces = cuts.column(frame.sparkSession, kind)
    # With the type of the pieces, or else each comparison would convert it.
    wanted = F.when(is_hot(cuts), piece_of(F.col(HASH), at)).cast(kind)
    found = frame.withColumn(HASH, hashed).withColumn(_WANTED, wanted)
    step = 1 << (len(cuts.workers).bit_length() - 1)
    number: Column = F.lit(0)
    names = []
    while step:
        # A cold key has no wanted value, and compares as null.
        lower = F.get(pieces, number + F.lit(step - 1)) < F.col(_WANTED)
        names.append(f"{_STEP}_{step}")
        found = found.withColumn(names[-1], F.when(lower, number + F.lit(step)).otherwise(number))
        number, step = F.col(names[-1]), step // 2
    return found.withColumn(PIECE, number).drop(_WANTED, *names)


def is_hot(cuts: Cuts) -> Column:
    """Return whether a row belongs to a key that is cut, from the column `HASH`.

    A filter by `PIECE` would pull the whole search into the filter.
    """
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
