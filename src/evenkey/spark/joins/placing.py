"""Place the rows of one side of a join: deal or copy them to the workers of their keys."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey.spark.joins.join_keys import without_null
from evenkey.spark.joins.witnesses import COPY, ONCE, WITNESS, first_of_task
from evenkey.spark.keys.contents import hashed_parts
from evenkey.spark.keys.given_columns import hash_of
from evenkey.spark.keys.row_numbers import numbered
from evenkey.spark.plans.lookup import (
    HASH,
    PLACE,
    every_worker,
    is_split,
    with_dealt,
    with_places,
    worker_of,
)
from evenkey.spark.routing.to_workers import split_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SPLIT = "__evenkey_split"
"""Column on which both sides are joined in addition to the key; it determines a row's worker."""
_WORKER, _FIRST, _CELL, _NUMBER = (
    f"__evenkey_{name}" for name in ("worker", "first", "cell", "number")
)


@dataclass(frozen=True)
class Side:
    """How the rows of one side are placed.

    Parameters
    ----------
    columns
        Key columns, in the types in which Spark compares them.
    copied
        Which rows are copied to all workers of their key: True for all, False for none, or a
        condition on the column `HASH`. Every other row goes to one worker of its key, in turn.
    kept
        Whether rows without a match are in the result.
    witnessed
        Hashes of keys. If a task has rows of such a key, it also sends one of these rows to the
        key's first worker, as a witness (`evenkey.spark.joins.witnesses`).
    splits
        Whether the plan splits keys.
    mark
        Name of a column for the kind of each row: `ONCE`, `COPY` or `WITNESS`; None: no column.
    """

    columns: tuple[Column, ...]
    copied: Column | bool
    kept: bool
    witnessed: tuple[int, ...] = ()
    splits: bool = True
    mark: str | None = None

    @property
    def all_copied(self) -> bool:
        """Whether every row is copied, except that rows with a null in the key are dropped."""
        return self.copied is True and not self.kept


def place_side(side: DataFrame, what: Side, words: Column, buckets: int, workers: int) -> DataFrame:
    """Move each row of a side to the partition of its worker; a copied row goes to several workers.

    Rows with a null in the key have no match: they are spread over all workers if the result keeps
    them, and dropped otherwise.

    Parameters
    ----------
    side
        A stream, or a batch.
    what
        How the rows of this side are placed.
    words
        The words of the plan, which must be the same for both sides.
    buckets, workers
        Number of buckets and of workers of the plan.

    Returns
    -------
    DataFrame
        The rows, with the int column `SPLIT`. Rows of a key have the same `SPLIT` if they are on
        the same worker, and different `SPLIT` if not. Rows are hash-partitioned by key and `SPLIT`
        into one partition per worker, as Spark's join on these columns requires.
    """
    known = without_null(what.columns)
    if not what.kept:
        side = side.where(known)
    placed = with_places(side, hash_of(what.columns), words, buckets, workers)
    matters = [is_split()] if what.splits and what.copied is not True else []
    matters += [~known] if what.kept else []
    numbers: Column | None = F.lit(0)
    if matters:
        where = functools.reduce(operator.or_, matters)
        placed, numbers = numbered(placed, side, where=where)
    if what.all_copied:
        placed = _with_cells(placed, what, every_worker(words), F.lit(COPY))
    else:
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
    """Add copies and witnesses of rows to the rows that are dealt."""
    worker = F.col(_WORKER).cast("long")
    cells, more = F.array(worker), F.lit(WITNESS)
    if what.witnessed:
        first = first_of_task(placed.sparkSession, what.witnessed)
        fields = placed.select(*what.columns).schema.fields
        parts = [
            part
            for column, field in zip(what.columns, fields, strict=True)
            for part in hashed_parts(column, field.dataType)
        ]
        hashes = F.struct(F.col(HASH), F.xxhash64(*parts).alias("contents"))
        placed = placed.withColumn(_FIRST, first(F.when(known, hashes)))
        two = F.array(worker, F.element_at(every_worker(words), 1))
        cells = F.when(F.col(_FIRST), two).otherwise(cells)
    if what.copied is not False:
        copied = known if what.copied is True else known & what.copied
        cells = F.when(copied, every_worker(words)).otherwise(cells)
        more = F.when(copied, F.lit(COPY)).otherwise(more)
    return _with_cells(placed, what, cells, more)


def _with_cells(placed: DataFrame, what: Side, cells: Column, more: Column) -> DataFrame:
    """Replace each row by one row per cell, for the worker of the cell.

    The first of these rows is marked `ONCE`. All others get the mark `more`.
    """
    if what.mark is None:
        placed = placed.withColumn(_CELL, F.explode(cells))
    else:
        placed = placed.select("*", F.posexplode(cells).alias(_NUMBER, _CELL))
        mark = F.when(F.col(_NUMBER) == 0, F.lit(ONCE)).otherwise(more)
        placed = placed.withColumn(what.mark, mark)
    return placed.withColumn(_WORKER, worker_of(F.col(_CELL))).drop(_FIRST, _CELL, _NUMBER)
