"""Numba kernels of planned grouping: reading the lookup, and spreading surprising keys."""

from __future__ import annotations

import numpy as np

from evenkey.core.extras import load_extra
from evenkey.groupings.planned.surprise import CELL_BITS, MULTIPLIER

njit = load_extra("numba", "kernels", "spreading keys that are hotter than planned").njit

SHIFT_32 = np.uint64(32)
LOW_32 = np.uint64(0xFFFFFFFF)
OWNER_BITS = np.uint64(24)
OWNER = np.uint64((1 << 24) - 1)
OFFSET = np.uint64(0x9E3779B9)
CELL_SHIFT = np.uint64(64 - CELL_BITS)
MANY = 50
"""Up to this many workers, the floor of surprising keys is a fixed share of all messages."""
GOLDEN = (5**0.5 - 1) / 2
"""The golden ratio less 1. Its multiples modulo 1 fill [0, 1) uniformly; they determine the workers
of the messages of split keys."""


@njit(cache=True, inline="always")
def _slot_of(hashed, word, bits):
    """Compute the slot in which a key with its own workers is stored (see `Lookup`)."""
    upper = ((hashed >> SHIFT_32) + OFFSET) & LOW_32
    return np.int64(((upper * (word >> OWNER_BITS)) & LOW_32) >> (SHIFT_32 - bits))


@njit(cache=True, inline="always")
def piece_of(starts, cuts, split, point):
    """Find the piece of a split key that contains a point of [0, 1); return its row in `cuts`."""
    low, high = starts[split], starts[split + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if point < cuts[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, inline="always")
def _weight(cell, above, total, workers, unit, rules):
    """Return how hot a key is, 0 to 1, if it may leave its planned worker; else return -1."""
    excess, slack, least, most, part, heavy, _, fewest, steep = rules
    floor = min(max(least * unit, part * total / max(workers, MANY)), most * unit)
    if above > slack:
        allowed = max(slack, 2 * np.sqrt(workers * unit / total))
        if above > allowed:
            floor = max(fewest * unit, floor * (allowed / above) ** steep)
    beyond = cell.count - floor
    if beyond <= 0:
        return -1.0
    expected = cell.expected * total
    if beyond <= (1 + excess) * expected + 4 * np.sqrt(expected * unit):
        return 0.0
    return min(1.0, cell.count * workers / (heavy * total))


@njit(cache=True, inline="always")
def _next_with_capacity(planned, cell, weight, shares, sent, total, unit, rules):
    """Find a worker with capacity for a message that may leave its planned worker.

    The candidates are `cell.width` consecutive workers, starting with the planned worker. The key
    stays on one candidate as long as this worker has capacity, then moves to the next candidate. If
    no candidate has capacity, the worker after them becomes a candidate too.
    """
    workers = len(sent)
    slack = rules[1] * (1 - weight)
    if weight == 0:
        # A key as frequent as planned leaves its worker only if chance cannot explain the overload.
        slack = max(slack, 3 * np.sqrt(workers * unit / total))
    most = (1 + slack) * total
    margin = rules[6] * unit
    worker = (planned + np.int64(cell.turn)) % workers
    tries = 0
    while sent[worker] > most * shares[worker] + margin:
        if tries < cell.width:
            cell.turn = cell.turn + 1 if cell.turn + 1 < cell.width else 0
        elif cell.width < workers:
            cell.turn = cell.width
            cell.width += 1
        else:
            break
        worker = (planned + np.int64(cell.turn)) % workers
        tries += 1
    return worker


@njit(cache=True)
def planned(keys, weights, lookup, bits, offset, state, surprise, out):
    """Route by the lookup, spread surprising keys, and count the loads of workers and buckets.

    Parameters
    ----------
    state
        Tuple of arrays: number of messages so far of each split key, load of each worker, and load
        of each bucket (empty: bucket loads are not counted).
    surprise
        Tuple: the arrays of `Cells`, the fair share of each worker, and `SurpriseRules`. If there
        are no cells, no key is surprising.
    """
    words, slot_keys, slot_places, starts, workers, cuts = lookup
    dealt, sent, buckets = state
    cells, tally, shares, rules = surprise
    mask = np.uint64(len(words) - 1)
    messages, total = tally[0], tally[1]
    for i in range(len(keys)):
        hashed = keys[i]
        weight = weights[i] if len(weights) else 1
        bucket = hashed & mask
        word = words[bucket]
        slot = _slot_of(hashed, word, bits)
        worker = np.int64(word & OWNER)
        if slot_keys[slot] == hashed:
            worker = np.int64(slot_places[slot])
            if worker >= len(sent):
                split = worker - len(sent)
                # From any offset, these points modulo 1 fill [0, 1) uniformly.
                point = (dealt[split] * GOLDEN + offset) % 1.0
                dealt[split] += 1
                worker = np.int64(workers[piece_of(starts, cuts, split, point)])
        if len(cells):
            messages += 1
            total += weight
            cell = cells[(hashed * MULTIPLIER) >> CELL_SHIFT]
            cell.count += weight
            unit = total / messages
            fair, margin = shares[worker] * total, rules[6] * unit
            above = (sent[worker] - margin) / fair - 1 if fair > margin else 0.0
            heavy = _weight(cell, above, total, len(sent), unit, rules)
            if heavy >= 0:
                worker = _next_with_capacity(worker, cell, heavy, shares, sent, total, unit, rules)
        sent[worker] += weight
        if len(buckets):
            buckets[bucket] += weight
        out[i] = worker
    tally[0], tally[1] = messages, total
