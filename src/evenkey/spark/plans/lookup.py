"""The native route of planned grouping: a worker for each row by Spark's own expressions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError
from evenkey.groupings import OFFSET, OWNER_BITS, Plan, unplanned
from evenkey.spark.keys.row_numbers import numbered, own_columns
from evenkey.spark.plans.deciding import WORDS, with_decided
from evenkey.spark.plans.packed import (
    LIMIT_BITS,
    MOST_WORKERS,
    ONE_CELL,
    WORKER_BITS,
    Positions,
    pack_plan,
)
from evenkey.spark.plans.tables import RoutingTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from evenkey.core.stores import SharedMark
    from evenkey.groupings import PlannedGrouping, Snapshot
    from evenkey.spark.plans.deciding import Tables
    from evenkey.spark.plans.tables import RoutingTables
    from evenkey.spark.sessions.task_id import TaskId

_GOLDEN = 0x9E3779B9
"""The golden ratio in units of 2**-32: its multiples, modulo 2**32, are spread evenly."""

HASH, PLACE = "__evenkey_hash", "__evenkey_place"
"""Columns of a row's hash, and of where its key is in the words of a plan."""

_WORD, _SLOT, _SCALED, _CELL = (f"__evenkey_{name}" for name in ("word", "slot", "scaled", "cell"))


def read_memory(tables: RoutingTables, query: str, epoch: int) -> Snapshot:
    """Read what a query's epoch starts from: its own table, else that of the place.

    Raises
    ------
    RunError
        The table cannot be read.
    ConfigurationError
        The table belongs to another grouping or worker count.
    """
    own = tables.of_query(query).read(epoch).memory
    return own or tables.before_query(query, epoch).memory


def with_planned_worker(
    df: DataFrame,
    hashed: Column,
    grouping: PlannedGrouping,
    workers: int,
    plan: Tables | Snapshot,
    name: str,
    position: Column | None = None,
    *,
    contents: Sequence[str] | None = None,
    inline: bool = False,
) -> DataFrame:
    """Add the int column `name`: the worker of each row by a plan.

    The plan is one array (`pack_plan`), which Spark reads as a scalar subquery: in a batch it is
    given here, in a stream `Tables` are, which decide that of an epoch before the epoch's
    tasks start, so that all of them see the same one. Rows of split keys are dealt by `position`
    (golden ratio); where none is given, by their numbers (`numbered`). A stream whose rows have no
    numbers deals them by random numbers, a function of partition and row. A plan that is given can
    stand `inline` in the query: operators with state cannot be sent to tasks with a subquery
    beneath them. Of the rows only the columns `contents` are used later; None: all.

    Raises
    ------
    ConfigurationError
        There are more than `MOST_WORKERS` workers.
    """
    source = df
    df, words = plan_words(df, grouping, workers, plan, inline=inline)
    df = with_places(df, hashed, words, grouping.bucket_count(workers), workers)
    if position is None and isinstance(plan, dict) and not _splits(plan):
        position = F.lit(0)
    if position is None:
        names = own_columns(source) if contents is None else contents
        df, position = numbered(df, source, names, is_split())
    return with_dealt(df, words, name, position).drop(HASH, PLACE)


def plan_words(
    df: DataFrame,
    grouping: PlannedGrouping,
    workers: int,
    plan: Tables | Snapshot,
    *,
    inline: bool = False,
) -> tuple[DataFrame, Column]:
    """Give a plan as words that are the same in all rows; rows of a stream wait for them.

    Raises
    ------
    ConfigurationError
        There are more than `MOST_WORKERS` workers.
    """
    _check_most(workers)
    packed = _PackedPlan(grouping, workers)
    if not isinstance(plan, dict):
        return with_decided(df, plan, packed)
    if inline:
        # Of one text Spark makes the array once, by constant folding.
        text = " ".join(map(str, packed.of(plan).tolist()))
        return df, F.split(F.lit(text), " ").cast("array<bigint>")
    given = pa.table({"words": pa.array([packed.of(plan)], pa.list_(pa.int64()))})
    return df, df.sparkSession.createDataFrame(given, WORDS).scalar()


def with_places(
    df: DataFrame, hashed: Column, words: Column, buckets: int, workers: int
) -> DataFrame:
    """Add `HASH` and `PLACE`: how many cells a row's key has, times 2**32, and the first one."""
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
    """Add the int column `name`: of the workers of a row's key the one that its position gives."""
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
    """Add the int column `name`: of the workers of a row's number one, by words of `pack_places`.

    They are dealt as by `with_planned_worker`.

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
    """Say whether the key of a row is split over several workers, by its `PLACE`."""
    return _high(F.col(PLACE)) > 1


def every_worker(words: Column) -> Column:
    """List the cells of a row's key by its `PLACE`; `worker_of` gives the worker of each."""
    place = F.col(PLACE)
    return F.slice(words, (_low(place) + 1).cast("int"), _high(place).cast("int"))


def worker_of(cell: Column) -> Column:
    """Give the worker of a cell of `every_worker`, an int."""
    return _low(cell, WORKER_BITS).cast("int")


def _splits(memory: Snapshot) -> bool:
    return bool(memory) and Plan.from_arrays(memory).extra_pairs > 0


def _check_most(workers: int) -> None:
    if workers > MOST_WORKERS:
        message = f"workers = {workers}: rows are dealt to at most {MOST_WORKERS} on Spark"
        raise ConfigurationError(message)


def _points(position: Column | None) -> Column:
    """Points of the unit interval, in units of 2**-32."""
    if position is None:
        return F.floor(F.rand() * F.lit(float(1 << 32)))
    # A row without a position is dealt as the first one; it must not lose its worker.
    known = F.coalesce(position.cast("long"), F.lit(0))
    return _low(_low(known, 31) * F.lit(_GOLDEN))


def _high(column: Column) -> Column:
    return F.shiftrightunsigned(column, 32)


def _low(column: Column, bits: int = 32) -> Column:
    return column.bitwiseAND(F.lit((1 << bits) - 1))


@dataclass(frozen=True)
class Followed:
    """Plans that somebody else makes: a run's own planner, or the driver from samples.

    Parameters
    ----------
    tables
        Where plans lie.
    mark
        By which the task that reads them makes sure that it sees what is written there.
    first
        The plan that a query starts from which finds none there; it becomes the query's.
    """

    tables: RoutingTables
    mark: SharedMark
    first: Snapshot = field(default_factory=dict)

    def decide(self, task: TaskId) -> RoutingTable:
        """Give the last table up to a task's epoch.

        Raises
        ------
        RunError
            The state cannot be read, or this host does not see it.
        ConfigurationError
            The table belongs to another grouping or worker count.
        """
        self.mark.check()
        memory = read_memory(self.tables, task.query, task.epoch)
        if self.first and not memory:
            memory = self.first
            self.tables.of_query(task.query).write(0, RoutingTable(memory))
        return RoutingTable(memory)

    def recall(self, task: TaskId) -> RoutingTable:
        """Give the last table up to a task's epoch: nobody writes one while it runs.

        Raises
        ------
        RunError, ConfigurationError
            As `decide` does.
        """
        self.mark.check()
        return RoutingTable(read_memory(self.tables, task.query, task.epoch))


@dataclass(frozen=True)
class _PackedPlan:
    """Gives the plan of a table as words; where there is none, buckets are dealt by number."""

    grouping: PlannedGrouping
    workers: int

    def __call__(self, table: RoutingTable) -> NDArray[np.int64]:
        return self.of(table.memory)

    def of(self, memory: Snapshot) -> NDArray[np.int64]:
        if memory:
            plan = Plan.from_arrays(memory)
        else:
            plan = unplanned(self.grouping.bucket_count(self.workers), self.workers)
        return pack_plan(plan)
