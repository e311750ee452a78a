"""Filling workers: items (keys and buckets) are placed one after the other; only keys are split."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_NONE = -1


@dataclass(frozen=True, eq=False)
class Limits:
    """How much load each worker can take.

    Parameters
    ----------
    remaining
        float64[W], load that each worker can still take.
    extra
        float64[W], additional load that a worker can take from an item that was already on it.
    sliver
        float64[W], at least 0. A worker takes a part of a key that was already on it only if the
        worker can take more load than this.
    """

    remaining: NDArray[np.float64]
    extra: NDArray[np.float64]
    sliver: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Before:
    """The workers of n items in the previous plan.

    Parameters
    ----------
    homes
        int32[n], owner of each bucket; for a key, the owner of its bucket.
    rows
        int64[k], index of each key in `starts`; -1: the key had no workers of its own.
    starts, places, shares
        The same arrays of the previous `Plan`: the workers of the keys in it.
    """

    homes: NDArray[np.int32]
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    places: NDArray[np.int32]
    shares: NDArray[np.float64]


class Pieces(NamedTuple):
    """Where items were placed.

    A piece is an item on its worker or, for a split key, the part of the key on one worker.
    """

    items: NDArray[np.int64]
    """[pieces], item of each piece, in the order in which the pieces were placed."""
    workers: NDArray[np.int32]
    """[pieces], worker of each piece."""
    loads: NDArray[np.float64]
    """[pieces], load of each piece."""
    moved: NDArray[np.bool_]
    """[n], whether each item has moved to a worker that did not have it before."""


def fill(
    order: NDArray[np.int64], loads: NDArray[np.float64], before: Before, limits: Limits
) -> Pieces:
    """Place items on workers, in the given order.

    An item stays on a worker of the previous plan that can still take it, else it goes to the
    worker that can take most, in ties to the one with the lowest number. A key that fits on no
    worker is split.

    Parameters
    ----------
    order
        int64[m], the items in the order in which they are placed.
    loads
        float64[n], load of each item, at least 0. The first ``len(before.rows)`` items are keys,
        all others are buckets.
    before
        The workers of the items in the previous plan.
    limits
        How much load each worker can take.
    """
    workers, keys = _Workers(limits), len(before.rows)
    # The loop works on lists, because access to single numbers of an array is slow.
    remaining, extra = workers.remaining, limits.extra.tolist()
    starts, places = before.starts.tolist(), before.places.tolist()
    rows = np.full(len(loads), _NONE, dtype=np.int64)
    rows[:keys] = before.rows
    chosen: list[int] = []
    moved: list[int] = []
    splits: list[list[tuple[int, float]]] = []
    columns = (each.tolist() for each in (order, loads[order], before.homes[order], rows[order]))
    for item, load, home, row in zip(*columns, strict=True):
        had = (home,) if row == _NONE else places[starts[row] : starts[row + 1]]
        for worker in had:
            if load <= remaining[worker] + extra[worker] or load == 0:
                break
        else:
            worker = workers.emptiest()
            if item < keys and load > remaining[worker]:
                pieces, elsewhere = workers.split(load, had)
                splits.append(pieces)
                chosen.append(_NONE)
                if elsewhere:
                    moved.append(item)
                continue
            if worker not in had:
                moved.append(item)
        chosen.append(worker)
        remaining[worker] -= load
    changed = np.zeros(len(loads), dtype=bool)
    changed[moved] = True
    return _pieces(order, np.array(chosen, np.int32), loads[order], splits, changed)


def _pieces(
    order: NDArray[np.int64],
    chosen: NDArray[np.int32],
    loads: NDArray[np.float64],
    splits: list[list[tuple[int, float]]],
    moved: NDArray[np.bool_],
) -> Pieces:
    """Return the pieces of items on the `chosen` workers, and of the items that were split."""
    counts = np.ones(len(order), dtype=np.int64)
    counts[chosen == _NONE] = [len(each) for each in splits]
    workers, parts = np.repeat(chosen, counts), np.repeat(loads, counts)
    split = workers == _NONE
    workers[split] = [worker for each in splits for worker, _ in each]
    parts[split] = [part for each in splits for _, part in each]
    return Pieces(np.repeat(order, counts), workers, parts, moved)


class _Workers:
    """The load that each worker can still take, and the worker that can take most."""

    def __init__(self, limits: Limits) -> None:
        self.remaining: list[float] = limits.remaining.tolist()
        self._sliver: list[float] = limits.sliver.tolist()
        # What a worker can take never grows. So an entry that is out of date is too early in the
        # heap, and it is enough to update entries that are at the top.
        self._heap = [(-load, worker) for worker, load in enumerate(self.remaining)]
        heapq.heapify(self._heap)

    def emptiest(self) -> int:
        """Return the worker that can take most, in ties the one with the lowest number."""
        while True:
            known, worker = self._heap[0]
            now = -self.remaining[worker]
            if known == now:
                return worker
            heapq.heapreplace(self._heap, (now, worker))

    def split(self, load: float, had: Sequence[int]) -> tuple[list[tuple[int, float]], bool]:
        """Split a key over workers: first over those that had it, then over the emptiest.

        Returns
        -------
        tuple
            Worker and load of each piece, in the order in which they were placed; and whether the
            emptiest workers took some of the load.
        """
        remaining = self.remaining
        pieces = []
        for worker in had:
            if remaining[worker] > self._sliver[worker] and load > 0:
                part = min(load, remaining[worker])
                pieces.append((worker, part))
                load -= part
                remaining[worker] -= part
        elsewhere = load > 0
        while load > 0:
            worker = self.emptiest()
            # Without tolerance, rounding can leave less capacity than load at the end.
            part = min(load, remaining[worker]) if remaining[worker] > 1e-9 * load else load
            pieces.append((worker, part))
            load -= part
            remaining[worker] -= part
        return pieces, elsewhere
