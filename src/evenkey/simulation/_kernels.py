"""Numba kernels of the simulator: they assign messages to sources and add up loads."""

from __future__ import annotations

import numpy as np

from evenkey.core.extras import load_extra

njit = load_extra("numba", "kernels", "the simulator").njit
SHIFT_32 = np.uint64(32)


@njit(cache=True)
def take_turns(position, readers, sources, out):
    """Assign messages to sources; message p goes to ``(p // readers + p % readers) % sources``."""
    reader, turn = position % readers, position // readers
    source = (turn + reader) % sources
    for i in range(len(out)):
        out[i] = source
        reader += 1
        if reader == readers:
            reader = 0
            turn += 1
            source = turn % sources
        else:
            source += 1
            if source == sources:
                source = 0


@njit(cache=True)
def scale(hashes, sources, out):
    """Map each hash to a source, 0 to sources - 1, by the upper 32 bits."""
    for i in range(len(hashes)):
        out[i] = ((hashes[i] >> SHIFT_32) * np.uint64(sources)) >> SHIFT_32


@njit(cache=True)
def order_by_source(sources, ends, order):
    """Sort messages by source: ``order[ends[s - 1]:ends[s]]`` holds those of source s, in order."""
    ends[:] = 0
    for source in sources:
        ends[source] += 1
    start = 0
    for source in range(len(ends)):
        start += ends[source]
        ends[source] = start - ends[source]
    for i in range(len(sources)):
        order[ends[sources[i]]] = i
        ends[sources[i]] += 1


@njit(cache=True)
def add_loads(workers, sources, weights, total, loads, local, peaks):
    """Add messages to the loads of workers, and to the loads that each source sent.

    Parameters
    ----------
    workers, sources, weights
        Worker, source and weight of each message; if `weights` is empty, each message weighs 1.
    total
        Weight of all earlier messages.
    loads
        int64[W], load of each worker.
    local
        int64[S, W], the part of each load that each source sent.
    peaks
        int64[S], the maximum of each row of `local`.

    Returns
    -------
    tuple of int
        Three numbers. First, the sum, over each message t of these messages, of the maximum load
        after t. Second, the sum, over each message t, of the weight of all messages up to t. Third,
        the weight of all messages up to the last message.
    """
    peak = loads.max()
    sum_of_peaks, sum_of_totals = np.int64(0), np.int64(0)
    for i in range(len(workers)):
        weight = weights[i] if len(weights) else 1
        worker, source = workers[i], sources[i]
        total += weight
        loads[worker] += weight
        peak = max(peak, loads[worker])
        local[source, worker] += weight
        peaks[source] = max(peaks[source], local[source, worker])
        sum_of_peaks += peak
        sum_of_totals += total
    return sum_of_peaks, sum_of_totals, total


@njit(cache=True)
def add_counts(ids, keys, weights, counts, hashes):
    """Add each message's weight (1 without weights) to its key's count; store the key's hash."""
    for i in range(len(ids)):
        counts[ids[i]] += weights[i] if len(weights) else 1
        hashes[ids[i]] = keys[i]
