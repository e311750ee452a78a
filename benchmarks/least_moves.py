"""The share of keys that had to move for balance, from the counts of keys in each epoch.

This program shares no code with planned grouping. It knows the count of every key and has no
buckets. A key stays on its workers. If the keys of a worker exceed the limit, the hottest of them
give up as much load as is too much. This load, and the load of split keys that their workers cannot
take, goes to the workers with most capacity left. Each (worker, key) pair that a key of an earlier
epoch gets in this way is a move.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from evenkey.core.streams import KeyStream

    Counts = dict[int, int]


def counts_by_epoch(stream: KeyStream, epoch_messages: int) -> Iterable[Counts]:
    """Yield the number of messages of each key in each epoch."""
    for start in range(0, stream.length, epoch_messages):
        keys: NDArray[np.uint64] = stream.batch(start, start + epoch_messages).keys
        found, counts = np.unique(keys, return_counts=True)
        yield dict(zip(found.tolist(), counts.tolist(), strict=True))


def share_moved(epochs: Iterable[Counts], workers: int, most: float) -> float:
    """Return the number of moves per key of the run; no load exceeds `most` times the mean."""
    held: dict[int, list[int]] = {}
    moves = 0
    for counts in epochs:
        limit = most * sum(counts.values()) / workers
        space, demand = [limit] * workers, []
        whole: list[list[tuple[int, int]]] = [[] for _ in range(workers)]
        for key, count in counts.items():
            if key not in held:
                demand.append((float(count), key))
            elif len(held[key]) == 1:
                whole[held[key][0]].append((count, key))
        for worker, mine in enumerate(whole):
            space[worker] -= sum(count for count, _ in mine)
            given_up = _given_up(mine, -space[worker])
            space[worker] += sum(part for part, _ in given_up)
            demand += given_up
        split = [(counts[key], key) for key in counts if len(held.get(key, ())) > 1]
        for count, key in sorted(split):
            left = float(count)
            for worker in held[key]:
                part = min(left, space[worker])
                space[worker] -= part
                left -= part
            if left > 0:
                demand.append((left, key))
        moves += _placed(sorted(demand, reverse=True), held, space)
    return moves / len(held)


def _given_up(mine: list[tuple[int, int]], excess: float) -> list[tuple[float, int]]:
    """Return the loads that the hottest keys of a worker give up, which add up to the excess."""
    parts = []
    for count, key in sorted(mine, reverse=True):
        if excess <= 0:
            break
        parts.append((min(float(count), excess), key))
        excess -= parts[-1][0]
    return parts


def _placed(demand: list[tuple[float, int]], held: dict[int, list[int]], space: list[float]) -> int:
    """Place loads on the workers with most capacity, and return how many pairs of old keys came."""
    heap = [(-each, worker) for worker, each in enumerate(space)]
    heapq.heapify(heap)
    moves, old = 0, {key for _, key in demand if key in held}
    for load, key in demand:
        left = load
        while left > 0:
            capacity, worker = heap[0]
            # Rounding can leave less capacity than load at the end.
            part = left if -capacity < 1e-6 else min(left, -capacity)
            heapq.heapreplace(heap, (capacity + part, worker))
            left -= part
            mine = held.setdefault(key, [])
            if worker not in mine:
                mine.append(worker)
                moves += key in old
    return moves
