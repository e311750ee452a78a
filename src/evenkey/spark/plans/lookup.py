"""Look up the worker of each row in a plan, with Spark's own expressions and without Python.

The plan is packed into one array of 64-bit words (`pack_plan`), the same for all rows of a batch or
of an epoch.
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
"""Widths in bits of the fields of a cell (see `pack_plan`). From the lowest bit, a cell has its
worker (20 bits), its other worker (20 bits) and the limit between the two (24 bits)."""

MOST_WORKERS = 1 << WORKER_BITS
ONE_CELL = 1 << 32
"""The place (see `pack_plan`) of a key with one cell is this number plus the cell's position."""

_WHOLE = (1 << LIMIT_BITS) - 1
"""The highest limit that fits into `LIMIT_BITS`. With this limit, one point in 2**24 still belongs
to the cell's other worker. So a cell with only one worker names this worker twice."""

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
    packed = _PackedPlan(source, grouping, workers)
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


@dataclass(frozen=True)
class _PackedPlan:
    """Packs the plan of a source into words; without a plan, workers get the buckets in turn."""

    source: PlanSource[RoutingTable]
    grouping: PlannedGrouping
    workers: int

    def __call__(self, task: TaskId) -> NDArray[np.int64]:
        return self.words_of(self.source.decide(task).memory)

    def words_of(self, memory: Snapshot) -> NDArray[np.int64]:
        buckets = self.grouping.bucket_count(self.workers)
        if not memory:
            return pack_plan(unplanned(buckets, self.workers))
        return pack_plan(Plan.from_arrays(memory, self.workers, buckets))


class Positions(NamedTuple):
    """Index at which each part of a packed plan begins.

    Word 0 of the plan is the number of bits by which a product of a key's hash is shifted to find
    the slot of the key (see `Lookup`).
    """

    buckets: int
    """One word per bucket, as in `Lookup`."""
    workers: int
    """One cell per worker. All keys that are on this worker alone use the same cell."""
    slots: int
    """Two words per slot: the hash of a key, and the place of this key."""

    @classmethod
    def of(cls, buckets: int, workers: int) -> Positions:
        """Compute the positions for a plan with these numbers of buckets and workers."""
        return cls(1, 1 + buckets, 1 + buckets + workers)


def pack_plan(plan: Plan) -> NDArray[np.int64]:
    """Pack a plan into one array of 64-bit words.

    The parts of the array, in their order, are the shift (see `Positions`), the buckets, the
    workers' cells, the slots, and the cells of split keys.

    The place of a key is its number of cells times 2**32, plus the position of its first cell. A
    key on one worker has one cell, and a split key has several. To find the worker of a row, divide
    the unit interval into as many equal cells as the key has. The row has a point in this interval,
    which falls into one of the cells. If the point is below the limit of the cell, the row goes to
    the cell's worker, and otherwise to the cell's other worker (alias method: Walker, ACM TOMS 3,
    1977). Limits are in units of 2**-24 of a cell. Each worker of a key is the (first) worker of
    exactly one of the key's cells.

    Parameters
    ----------
    plan
        A plan for at most `MOST_WORKERS` workers.

    Returns
    -------
    int64[1 + B + W + 2 T + cells]
        B, W and T are the numbers of buckets, workers and slots, as in `Lookup`.
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
    """Pack the places of keys that are numbered from 0: one place per key, then the cells.

    Numbered keys need no hash lookup: word i is the place of key i. Places and cells are as in
    `pack_plan`, so `dealt_by_number` distributes rows as `route` does. The cells of the workers
    come before the cells of split keys.

    Parameters
    ----------
    owners
        Worker of each of the n keys.
    copies
        For each key that is split over several workers: the share of each worker, by worker. The
        shares of a key add up to 1.
    workers
        Number of workers, W; at most `MOST_WORKERS`.

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
    """Merge the parts of a key that are on the same worker.

    With two parts of a key, a worker would get each row that is copied to all parts twice.

    Parameters
    ----------
    plan
        A plan of `make_plan`. If rounding left a worker some capacity, such a plan may give the
        worker a second part of a key.
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
    """Compute the other worker and the limit of each cell of split keys, from the keys' shares."""
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
