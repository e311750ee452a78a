"""The planner as it was when numba compiled it: filling of workers, and search for multipliers."""

from __future__ import annotations

import numpy as np
from numba import njit

from evenkey.groupings.planned.compiled_plan import OFFSET, OWNER_BITS
from evenkey.groupings.planned.filling import Pieces

EMPTY = -1
SHIFT_32 = np.uint64(32)
LOW_32 = np.uint64(0xFFFFFFFF)
BITS_OF_OWNER = np.uint64(OWNER_BITS)
OWNER = np.uint64((1 << OWNER_BITS) - 1)
ADDED = np.uint64(OFFSET)
TRIES = 1 << 12


def fill(order, loads, before, limits):
    """Do what `evenkey.groupings.planned.filling.fill` does."""
    most = len(loads) + len(limits.remaining)
    items, workers = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int32)
    parts, moved = np.empty(most), np.zeros(len(loads), dtype=bool)
    count = _fill(
        order,
        loads,
        before.homes,
        before.rows,
        before.starts,
        before.places,
        limits.remaining.copy(),
        limits.extra,
        limits.sliver,
        (items, workers, parts, moved),
    )
    return Pieces(items[:count], workers[:count], parts[:count], moved)


def compile_plan(plan):
    """Return the first three arrays of a `Lookup`: words, keys of slots and places of slots."""
    lengths = np.diff(plan.starts)
    buckets = (plan.keys & np.uint64(len(plan.owners) - 1)).astype(np.int64)
    alike = (buckets.astype(np.uint64) << SHIFT_32) | (plan.keys >> SHIFT_32)
    most_first = np.lexsort((plan.keys, -lengths))
    rows = most_first[np.unique(alike[most_first], return_index=True)[1]]
    rows = rows[np.argsort(buckets[rows], kind="stable")]
    keys = plan.keys[rows]
    starts = np.searchsorted(buckets[rows], np.arange(len(plan.owners) + 1))
    largest_first = np.argsort(-np.diff(starts), kind="stable")
    order = largest_first[: np.count_nonzero(np.diff(starts))]
    slots, words = _slots_and_words(keys, order, starts, plan.owners)
    split = lengths[rows] > 1
    places = plan.places[plan.starts[rows]].astype(np.int32)
    places[split] = plan.workers + np.arange(split.sum())
    slot_keys = np.zeros(len(slots), dtype=np.uint64)
    slot_places = np.full(len(slots), plan.owners[0], dtype=np.int32)
    used = slots >= 0
    slot_keys[used] = keys[slots[used]]
    slot_places[used] = places[slots[used]]
    return words, slot_keys, slot_places


def _slots_and_words(keys, order, starts, owners):
    bits = (2 * len(keys) - 1).bit_length() if len(keys) else 0
    most_bits = bits + 4
    while True:
        words = owners.astype(np.uint64) | np.uint64(1 << OWNER_BITS)
        slots = np.full(1 << bits, EMPTY, dtype=np.int64)
        stuck = _displace(keys, order, starts, words, slots, np.uint64(bits), TRIES)
        if stuck < 0:
            return slots, words
        if bits < most_bits:
            bits += 1
        else:
            order = np.delete(order, stuck)


@njit(cache=True, inline="always")
def _lift(tree, remaining, worker):
    """Update the tournament tree above a worker; the root is the worker with most capacity left."""
    half = len(tree) // 2
    node = (half + worker) // 2
    while node > 0:
        left, right = tree[2 * node], tree[2 * node + 1]
        if right == EMPTY or (left != EMPTY and remaining[left] >= remaining[right]):
            tree[node] = left
        else:
            tree[node] = right
        node //= 2


@njit(cache=True)
def _fill(  # noqa: C901, PLR0912 - a kernel is one loop
    order, loads, homes, earlier, starts, places, remaining, extra, sliver, out
):
    """Place items (keys and buckets) on workers, in the given order; only keys are ever split.

    A piece is an item on its worker or, for a split key, the part of the key on one worker.

    Parameters
    ----------
    order
        int64[n], the items in the order in which they are placed.
    loads
        float64[n], load of each item. The first ``len(earlier)`` items are keys, all others
        buckets.
    homes
        int32[n], owner of each bucket in the previous plan; for a key, the owner of its bucket.
    earlier
        int64[k], index of each key in `Plan.keys` of the previous plan; -1: the key was not in it.
    starts, places
        `Plan.starts` and `Plan.places` of the previous plan: the workers of the keys in it.
    remaining
        float64[W], load that each worker can still take; updated in place.
    extra
        float64[W], additional load that a worker can take from an item that was already on it.
    sliver
        float64[W]. A worker takes a part of a key that was already on it only if the worker can
        take more load than this.
    out
        Output arrays: item, worker and load, with one row per piece; and bool[n], whether each item
        has moved to a worker that did not have it before.

    Returns
    -------
    int
        Number of pieces.
    """
    items, workers, parts, moved = out
    half = 1
    while half < len(remaining):
        half *= 2
    tree = np.full(2 * half, EMPTY, dtype=np.int64)
    for worker in range(len(remaining)):
        tree[half + worker] = worker
    for worker in range(len(remaining)):
        _lift(tree, remaining, worker)
    single = np.empty(1, dtype=np.int32)
    count = 0
    for item in order:
        load = loads[item]
        single[0] = homes[item]
        before = single
        if item < len(earlier) and earlier[item] != EMPTY:
            row = earlier[item]
            before = places[starts[row] : starts[row + 1]]
        target = EMPTY
        for worker in before:
            if load <= remaining[worker] + extra[worker] or load == 0:
                target = worker
                break
        if target == EMPTY and (item >= len(earlier) or load <= remaining[tree[1]]):
            target = tree[1]
            moved[item] = True
            for worker in before:
                if worker == target:
                    moved[item] = False
        if target != EMPTY:
            items[count], workers[count], parts[count] = item, target, load
            count += 1
            remaining[target] -= load
            _lift(tree, remaining, target)
            continue
        for worker in before:
            if remaining[worker] > sliver[worker] and load > 0:
                part = min(load, remaining[worker])
                items[count], workers[count], parts[count] = item, worker, part
                count += 1
                load -= part
                remaining[worker] -= part
                _lift(tree, remaining, worker)
        while load > 0:
            worker = tree[1]
            # Without tolerance, rounding can leave less capacity than load at the end.
            part = min(load, remaining[worker]) if remaining[worker] > 1e-9 * load else load
            items[count], workers[count], parts[count] = item, worker, part
            count += 1
            load -= part
            remaining[worker] -= part
            _lift(tree, remaining, worker)
            moved[item] = True
    return count


@njit(cache=True, inline="always")
def _slot_of(hashed, word, bits):
    """Compute the slot in which a key with its own workers is stored (see `Lookup`)."""
    upper = ((hashed >> SHIFT_32) + ADDED) & LOW_32
    return np.int64(((upper * (word >> BITS_OF_OWNER)) & LOW_32) >> (SHIFT_32 - bits))


@njit(cache=True)
def _displace(keys, order, starts, words, slots, bits, tries):
    """Find for each bucket the first odd multiplier that maps all keys of the bucket to free slots.

    `order` lists the buckets; the keys of bucket b start at ``starts[b]`` in `keys`. Write the
    multipliers into `words`, above the owners, and the row of each key into its slot in `slots`.
    Return the position in `order` of the first bucket for which there is no multiplier, else -1.
    """
    for place in range(len(order)):
        bucket = order[place]
        first, last = starts[bucket], starts[bucket + 1]
        owner = words[bucket] & OWNER
        found = False
        for attempt in range(tries):
            word = (np.uint64(2 * attempt + 1) << BITS_OF_OWNER) | owner
            placed = first
            while placed < last:
                slot = _slot_of(keys[placed], word, bits)
                if slots[slot] != EMPTY:
                    break
                slots[slot] = placed
                placed += 1
            if placed == last:
                words[bucket] = word
                found = True
                break
            for row in range(first, placed):
                slots[_slot_of(keys[row], word, bits)] = EMPTY
        if not found:
            return place
    return -1
