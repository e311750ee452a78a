"""The lookup of a plan as one array of 64-bit words, which Spark reads as a literal."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenkey.groupings import compile_plan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenkey.groupings import Plan

WORKER_BITS, LIMIT_BITS = 20, 24
"""A cell holds, from below, its worker, its other worker, and the limit between them."""

MOST_WORKERS = 1 << WORKER_BITS
ONE_CELL = 1 << 32
"""Added to a cell's position it makes a place of one cell."""

_WHOLE = (1 << LIMIT_BITS) - 1
"""The highest limit that fits. It leaves one point in 2**24 to the other worker, which is the same
one where a cell has only one."""


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
    workers' first, so that `evenkey.spark.plans.lookup.dealt_by_number` deals rows as `route` does.

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
    """Merge the parts of a key that lie on one worker: what is copied to each would come twice.

    Parameters
    ----------
    plan
        By `make_plan`, which may come back to a worker where rounding has left room.
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
