"""Look up the worker of each row in a plan, with Spark's own expressions and without Python.

The plan is packed into one array of 64-bit words (`evenkey.spark.plans.packed_plan`), the same for
all rows of a batch or of an epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError
from evenkey.groupings import OFFSET, OWNER_BITS, Plan
from evenkey.spark.keys.row_numbers import numbered
from evenkey.spark.plans.packed_plan import (
    LIMIT_BITS,
    MOST_WORKERS,
    ONE_CELL,
    WORKER_BITS,
    PackedPlan,
    Positions,
)
from evenkey.spark.plans.plan_source import Fixed
from evenkey.spark.sessions.before_epoch import WORDS, with_epoch_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from evenkey.groupings import PlannedGrouping, Snapshot
    from evenkey.spark.plans.plan_source import PlanSource
    from evenkey.spark.plans.tables import RoutingTable

_GOLDEN = 0x9E3779B9
"""The golden ratio in units of 2**-32; its multiples modulo 2**32 are spread uniformly."""

HASH, PLACE = "__evenkey_hash", "__evenkey_place"
"""Columns for the hash of a row's key, and for the key's place, which locates the key's cells in
the words of the plan (see `pack_plan`)."""

_WORD, _SLOT, _SCALED, _CELL = (f"__evenkey_{name}" for name in ("word", "slot", "scaled", "cell"))


def with_planned_worker(
    df: DataFrame,
    hashed: Column,
    grouping: PlannedGrouping,
    workers: int,
    source: PlanSource[RoutingTable],
    name: str,
    position: Column | None = None,
    *,
    contents: Sequence[str] | None = None,
    inline: bool = False,
) -> DataFrame:
    """Add the int column `name`: the worker of each row, by the plan of a plan source.

    The plan is one array (`pack_plan`), which Spark reads as a scalar subquery. A source that is
    not `Fixed` decides the plan of an epoch before the epoch's tasks start, so all tasks see the
    same plan.

    Rows of a split key are distributed over the key's workers by the fractional part of the golden
    ratio times n, where n is the row's `position`. Without `position`, n is the number of the row
    (`numbered`). In a stream whose rows have no numbers, a random number replaces this fractional
    part; it is a function of the partition and the row.

    With `inline`, a fixed plan is a literal in the query and not a subquery. Operators with state
    need this, because Spark cannot send them to tasks if there is a subquery beneath them.
    `contents` lists the columns that later operators use; None: all columns.

    Raises
    ------
    ConfigurationError
        There are more than `MOST_WORKERS` workers.
    """
    given = df
    df, words = plan_words(df, grouping, workers, source, inline=inline)
    df = with_places(df, hashed, words, grouping.bucket_count(workers), workers)
    if position is None and isinstance(source, Fixed) and not _splits(source.memory):
        position = F.lit(0)
    if position is None:
        df, position = numbered(df, given, contents, is_split())
    return with_dealt(df, words, name, position).drop(HASH, PLACE)


def plan_words(
    df: DataFrame,
    grouping: PlannedGrouping,
    workers: int,
    source: PlanSource[RoutingTable],
    *,
    inline: bool = False,
) -> tuple[DataFrame, Column]:
    """Make rows wait for the plan of a source; return them with the plan as a column of words.

    The words are one array (`pack_plan`), equal in all rows. Under a `Fixed` source, rows need not
    wait. `inline` is as for `with_planned_worker`.

    Raises
    ------
    ConfigurationError
        There are more than `MOST_WORKERS` workers.
    """
    _check_most(workers)
    packed = PackedPlan(source, grouping, workers)
    if not isinstance(source, Fixed):
        return with_epoch_words(df, packed)
    words = packed.words_of(source.memory)
    if inline:
        # Spark makes the array from this text only once, by constant folding.
        text = " ".join(map(str, words.tolist()))
        return df, F.split(F.lit(text), " ").cast("array<bigint>")
    given = pa.table({"words": pa.array([words], pa.list_(pa.int64()))})
    return df, df.sparkSession.createDataFrame(given, WORDS).scalar()


def with_places(
    df: DataFrame, hashed: Column, words: Column, buckets: int, workers: int
) -> DataFrame:
    """Add the columns `HASH` and `PLACE`: the hash of a row's key, and the key's place.

    A place is the number of cells of the key * 2**32 + the position of its first cell.
    """
    hash_, word, slot = (F.col(step) for step in (HASH, _WORD, _SLOT))
    positions = Positions.of(buckets, workers)
    product = _low(_low(_high(hash_) + OFFSET) * F.shiftrightunsigned(word, OWNER_BITS))
    number = F.call_function("shiftrightunsigned", product, F.get(words, F.lit(0)).cast("int"))
    steps = {
        HASH: hashed,
        _WORD: F.get(words, _low(hash_, buckets.bit_length() - 1) + positions.buckets),
        _SLOT: 2 * number + positions.slots,
        PLACE: F.when(F.get(words, slot) == hash_, F.get(words, slot + 1)).otherwise(
            _low(word, OWNER_BITS) + (ONE_CELL + positions.workers)
        ),
    }
    for step, column in steps.items():
        df = df.withColumn(step, column)
    return df.drop(_WORD, _SLOT)


def with_dealt(df: DataFrame, words: Column, name: str, position: Column | None) -> DataFrame:
    """Add the int column `name`: one of the workers of a row's key, selected by `position`."""
    place, scaled, cell = (F.col(step) for step in (PLACE, _SCALED, _CELL))
    df = df.withColumn(_SCALED, _points(position) * _high(place))
    df = df.withColumn(_CELL, F.get(words, _low(place) + _high(scaled)))
    limit = F.shiftrightunsigned(cell, 2 * WORKER_BITS)
    other = F.shiftrightunsigned(cell, WORKER_BITS)
    below = _low(F.shiftrightunsigned(scaled, 32 - LIMIT_BITS), LIMIT_BITS) < limit
    worker = _low(F.when(below, cell).otherwise(other), WORKER_BITS)
    return df.withColumn(name, worker.cast("int")).drop(_SCALED, _CELL)


def dealt_by_number(
    df: DataFrame, number: Column, words: Column, workers: int, name: str
) -> DataFrame:
    """Add the int column `name`: the worker of a row whose key has the index `number`.

    `words` is the result of `pack_places` for all keys. Rows of a split key are distributed over
    the key's workers as in `with_planned_worker`.

    Raises
    ------
    ConfigurationError
        There are more than `MOST_WORKERS` workers.
    """
    _check_most(workers)
    placed = df.withColumn(PLACE, F.get(words, number))
    placed, position = numbered(placed, df, df.columns, is_split())
    return with_dealt(placed, words, name, position).drop(PLACE)


def is_split() -> Column:
    """Return whether the key of a row is split over several workers, from column `PLACE`."""
    return _high(F.col(PLACE)) > 1


def every_worker(words: Column) -> Column:
    """Return the array of cells of a row's key, which column `PLACE` locates in `words`.

    `worker_of` returns the worker of a cell.
    """
    place = F.col(PLACE)
    return F.slice(words, (_low(place) + 1).cast("int"), _high(place).cast("int"))


def worker_of(cell: Column) -> Column:
    """Return the worker of a cell, as an int; `every_worker` returns such cells."""
    return _low(cell, WORKER_BITS).cast("int")


def _splits(memory: Snapshot) -> bool:
    return bool(memory) and Plan.from_arrays(memory).extra_pairs > 0


def _check_most(workers: int) -> None:
    if workers > MOST_WORKERS:
        message = f"workers = {workers}: there can be at most {MOST_WORKERS} on Spark"
        raise ConfigurationError(message)


def _points(position: Column | None) -> Column:
    """Convert positions to points of the unit interval, in units of 2**-32; None: random points."""
    if position is None:
        return F.floor(F.rand() * F.lit(float(1 << 32)))
    # A row whose position is null counts as position 0: it must not be left without a worker.
    known = F.coalesce(position.cast("long"), F.lit(0))
    return _low(_low(known, 31) * F.lit(_GOLDEN))


def _high(column: Column) -> Column:
    return F.shiftrightunsigned(column, 32)


def _low(column: Column, bits: int = 32) -> Column:
    return column.bitwiseAND(F.lit((1 << bits) - 1))
