"""The lookup of a plan: packed as one array of words, and read by Spark's own expressions.

Spark reads the array as a literal, so that planned grouping gives each row a worker natively.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError
from evenkey.groupings import OFFSET, OWNER_BITS, Plan, compile_plan, unplanned
from evenkey.spark.keys.row_numbers import numbered
from evenkey.spark.plans.plan_source import Fixed
from evenkey.spark.sessions.before_epoch import WORDS, with_epoch_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from evenkey.groupings import PlannedGrouping, Snapshot
    from evenkey.spark.plans.plan_source import PlanSource
    from evenkey.spark.plans.tables import RoutingTable
    from evenkey.spark.sessions.task_id import TaskId

WORKER_BITS, LIMIT_BITS = 20, 24
"""A cell holds, from below, its worker, its other worker, and the limit between them."""

MOST_WORKERS = 1 << WORKER_BITS
ONE_CELL = 1 << 32
"""Added to a cell's position it makes a place of one cell."""

_WHOLE = (1 << LIMIT_BITS) - 1
"""The highest limit that fits. It leaves one point in 2**24 to the other worker, which is the same
one where a cell has only one."""

_GOLDEN = 0x9E3779B9
"""The golden ratio in units of 2**-32: its multiples, modulo 2**32, are spread uniformly."""

HASH, PLACE = "__evenkey_hash", "__evenkey_place"
"""Columns of a row's hash, and of where its key is in the words of a plan."""

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
    """Add the int column `name`: the worker of each row by the plan of a source.

    The plan is one array (`pack_plan`), which Spark reads as a scalar subquery. A source that is
    not `Fixed` decides that of an epoch before the epoch's tasks start, so that all of them see the
    same one. Rows of split keys are dealt by `position` (golden ratio); where none is given, by
    their numbers (`numbered`). A stream whose rows have no numbers deals them by random numbers, a
    function of partition and row. A fixed plan can stand `inline` in the query: operators with
    state cannot be sent to tasks with a subquery beneath them. Of the rows only the columns
    `contents` are used later; None: all.

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
    """Give the plan of a source as words that are the same in all rows; rows wait for them.

    Raises
    ------
    ConfigurationError
        There are more than `MOST_WORKERS` workers.
    """
    _check_most(workers)
    packed = _PackedPlan(source, grouping, workers)
    if not isinstance(source, Fixed):
        return with_epoch_words(df, packed)
    words = packed.words_of(source.memory)
    if inline:
        # Of one text Spark makes the array once, by constant folding.
        text = " ".join(map(str, words.tolist()))
        return df, F.split(F.lit(text), " ").cast("array<bigint>")
    given = pa.table({"words": pa.array([words], pa.list_(pa.int64()))})
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
class _PackedPlan:
    """Gives the plan of a source as words; where there is none, buckets are dealt by number."""

    source: PlanSource[RoutingTable]
    grouping: PlannedGrouping
    workers: int

    def __call__(self, task: TaskId) -> NDArray[np.int64]:
        return self.words_of(self.source.decide(task).memory)

    def words_of(self, memory: Snapshot) -> NDArray[np.int64]:
        if memory:
            plan = Plan.from_arrays(memory)
        else:
            plan = unplanned(self.grouping.bucket_count(self.workers), self.workers)
        return pack_plan(plan)


class Positions(NamedTuple):
    """Where the parts of the array begin; the first word is the shift that gives a slot."""

    buckets: int
    """One word a bucket, as in `Lookup`."""
    workers: int
    """One cell a worker, for keys that it has whole."""
    slots: int
    """Two words a slot: a key, and its place."""

    @classmethod
    def of(cls, buckets: int, workers: int) -> Positions:
        """Give those of a plan of so many buckets and workers."""
        return cls(1, 1 + buckets, 1 + buckets + workers)


def pack_plan(plan: Plan) -> NDArray[np.int64]:
    """Make the array: the shift, the buckets, the workers' cells, the slots, split keys' cells.

    A place is a number of cells times 2**32 plus the position of the first: one cell for a key that
    lies whole on a worker, several for a split key. A point in the unit interval falls into one
    of a place's n equal cells; below the cell's limit, in units of 2**-24 of the cell, it goes to
    the cell's worker, from there on to the other one (Walker, ACM TOMS 3, 1977). The cells of a key
    have each of its workers once.

    Parameters
    ----------
    plan
        For at most `MOST_WORKERS` workers.

    Returns
    -------
    int64[1 + B + W + 2 T + cells]
        With B buckets, W workers and T slots as in `Lookup`.
    """
    lookup = compile_plan(each_worker_once(plan))
    positions = Positions.of(len(lookup.words), plan.workers)
    shift = 32 - (len(lookup.slot_keys).bit_length() - 1)
    workers = np.arange(plan.workers, dtype=np.int64)
    places = ONE_CELL + positions.workers + lookup.slot_places.astype(np.int64)
    split = lookup.slot_places >= plan.workers
    numbers = lookup.slot_places[split] - plan.workers
    first = positions.slots + 2 * len(places) + lookup.starts[numbers]
    places[split] = (np.diff(lookup.starts)[numbers] << 32) + first
    slots = np.column_stack((lookup.slot_keys.view(np.int64), places)).ravel()
    whole = _cells(workers, workers, np.ones(plan.workers))
    others, limits = _alias(lookup.starts, lookup.workers, lookup.cuts)
    cells = _cells(lookup.workers, others, limits)
    return np.concatenate(([shift], lookup.words.view(np.int64), whole, slots, cells))


def pack_places(
    owners: Sequence[int], copies: Mapping[int, Mapping[int, float]], workers: int
) -> NDArray[np.int64]:
    """Make the array for keys that are numbers from 0 on: their places, then the cells.

    A number needs no lookup: word i is the place of number i. Cells are those of `pack_plan`, the
    workers' first, so that `dealt_by_number` deals rows as `route` does.

    Parameters
    ----------
    owners
        Worker of each of n numbers.
    copies
        Of a number that several workers share: each of them and its share, which add up to 1.
    workers
        How many there are, W; at most `MOST_WORKERS`.

    Returns
    -------
    int64[n + W + cells]
    """
    count, every = len(owners), np.arange(workers, dtype=np.int64)
    places = ONE_CELL + count + np.array(owners, dtype=np.int64)
    starts = np.cumsum([0, *map(len, copies.values())])
    shared = np.array([worker for each in copies.values() for worker in each], dtype=np.int32)
    cuts = [np.append(np.cumsum([*each.values()])[:-1], 1.0) for each in copies.values()]
    places[[*copies]] = (np.diff(starts) << 32) + count + workers + starts[:-1]
    others, limits = _alias(starts, shared, np.concatenate([*cuts, np.empty(0)]))
    whole = _cells(every, every, np.ones(workers))
    return np.concatenate((places, whole, _cells(shared, others, limits)))


def each_worker_once(plan: Plan) -> Plan:
    """Merge the parts of a key on the same worker, which would get a copied row twice.

    Parameters
    ----------
    plan
        By `make_plan`, which may return to a worker that has capacity left by rounding.
    """
    keys = np.repeat(np.arange(len(plan.keys)), np.diff(plan.starts))
    pairs = keys * plan.workers + plan.places
    distinct, inverse = np.unique(pairs, return_inverse=True)
    if len(distinct) == len(pairs):
        return plan
    starts = np.searchsorted(distinct, np.arange(len(plan.keys) + 1) * plan.workers)
    return replace(
        plan,
        starts=starts.astype(np.int64),
        places=(distinct % plan.workers).astype(np.int32),
        shares=np.bincount(inverse, plan.shares, minlength=len(distinct)).astype(np.float64),
    )


def _cells(
    workers: NDArray[Any], others: NDArray[Any], limits: NDArray[np.float64]
) -> NDArray[np.int64]:
    packed = np.minimum(np.rint(limits * (_WHOLE + 1)).astype(np.int64), _WHOLE)
    cells: NDArray[np.int64] = (((packed << WORKER_BITS) | others) << WORKER_BITS) | workers
    return cells


def _alias(
    starts: NDArray[np.int64], workers: NDArray[np.int32], cuts: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Make alias tables of the split keys' shares: each cell's other worker, and its limit."""
    others, limits = workers.copy(), np.ones(len(workers))
    for start, stop in itertools.pairwise(starts):
        left = np.diff(cuts[start:stop], prepend=0.0) * (stop - start)
        short = [cell for cell in range(len(left)) if left[cell] < 1]
        long = [cell for cell in range(len(left)) if left[cell] >= 1]
        while short and long:
            cell = short.pop()
            others[start + cell], limits[start + cell] = workers[start + long[-1]], left[cell]
            left[long[-1]] -= 1 - left[cell]
            if left[long[-1]] < 1:
                short.append(long.pop())
    return others, limits
