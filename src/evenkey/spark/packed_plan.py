"""The lookup of a plan as one array of 64-bit words, which Spark reads as a literal."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from evenkey.groupings.planned import compile_plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.groupings.planned import Lookup, Plan

__all__ = [
    "BUCKETS_AT",
    "LIMIT_BITS",
    "MOST_WORKERS",
    "WORKER_BITS",
    "pack_plan",
]

WORKER_BITS, LIMIT_BITS = 20, 24
"""A cell holds, from below, its worker, its other worker, and the limit between them."""

MOST_WORKERS = 1 << WORKER_BITS
BUCKETS_AT = 1
"""Where the buckets' words begin; the first word is the shift that gives a slot."""


def pack_plan(plan: Plan) -> NDArray[np.int64]:
    """Make the array: the shift, the buckets' words, slots of two words each, cells.

    A slot is a key and its place: the worker, or for a split key the number of its cells times
    2**32 plus the position of the first. A point in the unit interval falls into one of a split
    key's n equal cells; below the cell's limit, in units of 2**-24 of the cell, it goes to the
    cell's worker, from there on to the other one (Walker, ACM TOMS 3, 1977).

    Parameters
    ----------
    plan
        For at most `MOST_WORKERS` workers.

    Returns
    -------
    int64[1 + B + 2 T + cells]
        With B buckets and T slots as in `Lookup`.
    """
    lookup = compile_plan(plan)
    shift = 32 - (len(lookup.slot_keys).bit_length() - 1)
    cells_at = BUCKETS_AT + len(lookup.words) + 2 * len(lookup.slot_keys)
    slots = np.column_stack((lookup.slot_keys.view(np.int64), _places(lookup, plan, cells_at)))
    return np.concatenate(([shift], lookup.words.view(np.int64), slots.ravel(), _cells(lookup)))


def _places(lookup: Lookup, plan: Plan, cells_at: int) -> NDArray[np.int64]:
    places = lookup.slot_places.astype(np.int64)
    of_split = places >= plan.workers
    splits = places[of_split] - plan.workers
    places[of_split] = (np.diff(lookup.starts)[splits] << 32) + cells_at + lookup.starts[splits]
    return places


def _cells(lookup: Lookup) -> NDArray[np.int64]:
    others, limits = _alias(lookup.starts, lookup.workers, lookup.cuts)
    # The highest limit that fits leaves out one point in 2**24, which goes to the other worker:
    # the same one, where a cell has only one.
    whole = (1 << LIMIT_BITS) - 1
    packed = np.minimum(np.rint(limits * (whole + 1)).astype(np.int64), whole)
    packed = (packed << WORKER_BITS) | others
    return (packed << WORKER_BITS) | lookup.workers


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
