"""Placing of one side of a join: rows to the workers of their keys, dealt or copied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey.spark.columns import row_numbers
from evenkey.spark.joining.keys import hash_of, without_null
from evenkey.spark.joining.witnesses import COPY, ONCE, WITNESS, first_of_task
from evenkey.spark.placing import split_column
from evenkey.spark.plan_lookup import HASH, PLACE, every_worker, with_dealt, with_places, worker_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SPLIT = "__evenkey_split"
"""Column by which both sides are joined beside the key; it says to which worker a row goes."""
_WORKER, _FIRST, _CELL, _NUMBER = (
    f"__evenkey_{name}" for name in ("worker", "first", "cell", "number")
)


@dataclass(frozen=True)
class Side:
    """What becomes of the rows of one side.

    Parameters
    ----------
    columns
        Its key, in the types in which Spark compares it.
    copied
        Whether a row goes to every worker of its key: all rows, none, or as a condition on the
        column `HASH` says; otherwise to one of them, by turn.
    kept
        Whether rows that have no match are in the result.
    witnessed
        Hashes of the keys of which each task sends one row also to where rows of the other side
        are kept once (`evenkey.spark.joining.witnesses`).
    mark
        Column that says of each row what it is: `ONCE`, `COPY` or `WITNESS`; None: it is not asked.
    """

    columns: tuple[Column, ...]
    copied: Column | bool
    kept: bool
    witnessed: tuple[int, ...] = ()
    mark: str | None = None


def place_side(side: DataFrame, what: Side, words: Column, buckets: int, workers: int) -> DataFrame:
    """Bring each row of a side to the partition of its worker, and of several if it is copied.

    Rows with a null in the key have no match: they go to all workers alike, or are left out.

    Parameters
    ----------
    side
        A stream, or a batch.
    what
        Becomes of its rows.
    words
        The plan, the same as for the other side.
    buckets, workers
        Of the plan.

    Returns
    -------
    DataFrame
        With the int column `SPLIT`; equal keys have equal values of it on a worker, and on no two
        workers. It is hashed by key and `SPLIT` into as many partitions as there are workers,
        which is what Spark's join on these asks for.
    """
    known = without_null(what.columns)
    if not what.kept:
        side = side.where(known)
    numbers = None if side.isStreaming else row_numbers()
    placed = with_places(side, hash_of(what.columns), words, buckets, workers)
    placed = with_dealt(placed, words, _WORKER, numbers)
    if what.copied is not False or what.witnessed:
        placed = _with_more(placed, what, known, words)
    elif what.mark is not None:
        placed = placed.withColumn(what.mark, F.lit(ONCE))
    worker = F.col(_WORKER)
    if what.kept:
        every = F.lit(workers)
        anywhere = F.floor(F.rand() * every) if numbers is None else F.pmod(numbers, every)
        worker = F.when(known, worker).otherwise(anywhere.cast("int"))
    split = split_column(worker, what.columns, workers)
    placed = placed.withColumn(SPLIT, split).drop(HASH, PLACE, _WORKER)
    return placed.repartition(workers, *what.columns, SPLIT)


def _with_more(placed: DataFrame, what: Side, known: Column, words: Column) -> DataFrame:
    """Add copies and witnesses, and the marks that tell them from each other."""
    copied = F.lit(what.copied) if isinstance(what.copied, bool) else what.copied
    copied = copied & known
    one = F.col(_WORKER).cast("long")
    cells = F.array(one)
    if what.witnessed:
        first = first_of_task(placed.sparkSession, what.witnessed)
        placed = placed.withColumn(_FIRST, first(F.when(known, F.col(HASH))))
        two = F.array(one, F.get(words, F.col(PLACE).bitwiseAND(F.lit((1 << 32) - 1)).cast("int")))
        cells = F.when(F.col(_FIRST), two).otherwise(cells)
    if what.copied is True and not what.kept:
        cells = every_worker(words)
    elif what.copied is not False:
        cells = F.when(copied, every_worker(words)).otherwise(cells)
    if what.mark is None:
        placed = placed.withColumn(_CELL, F.explode(cells))
    else:
        placed = placed.select("*", F.posexplode(cells).alias(_NUMBER, _CELL))
        more = F.when(copied, F.lit(COPY)).otherwise(F.lit(WITNESS))
        placed = placed.withColumn(
            what.mark, F.when(F.col(_NUMBER) == 0, F.lit(ONCE)).otherwise(more)
        )
    return placed.withColumn(_WORKER, worker_of(F.col(_CELL))).drop(_FIRST, _CELL, _NUMBER)
