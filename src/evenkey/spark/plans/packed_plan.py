"""Pack a plan into one array of 64-bit words, which `evenkey.spark.plans.lookup` reads in Spark."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenkey.groupings import Plan, compile_plan, unplanned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

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


@dataclass(frozen=True)
class PackedPlan:
    """Packs the plan of a source into words; without a plan, workers get the buckets in turn."""

    source: PlanSource[RoutingTable]
    grouping: PlannedGrouping
    workers: int

    def __call__(self, task: TaskId) -> NDArray[np.int64]:
        """Return the words of the plan that the source decides for the epoch of a task."""
        return self.words_of(self.source.decide(task).memory)

    def words_of(self, memory: Snapshot) -> NDArray[np.int64]:
        """Return the words of a plan that is given as arrays."""
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
