"""Numba kernels of planned grouping: filling workers, building and reading the lookup."""

from __future__ import annotations

import numpy as np
from numba import njit

from evenkey.groupings.planned.surprise import CELL_BITS, MULTIPLIER

SHIFT_32 = np.uint64(32)
LOW_32 = np.uint64(0xFFFFFFFF)
OWNER_BITS = np.uint64(24)
OWNER = np.uint64((1 << 24) - 1)
OFFSET = np.uint64(0x9E3779B9)
CELL_SHIFT = np.uint64(64 - CELL_BITS)
EMPTY = -1
MANY = 50
"""Up to this many workers, the floor of surprising keys is a fixed share of all messages."""
GOLDEN = (5**0.5 - 1) / 2
"""The golden ratio less 1. Its multiples modulo 1 fill [0, 1) uniformly; they determine the workers
of the messages of split keys."""


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
def fill(order, loads, homes, earlier, starts, places, remaining, extra, sliver, out):
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
def slot_of(hashed, word, bits):
    """Compute the slot in which a key with its own workers is stored (see `Lookup`)."""
    upper = ((hashed >> SHIFT_32) + OFFSET) & LOW_32
    return np.int64(((upper * (word >> OWNER_BITS)) & LOW_32) >> (SHIFT_32 - bits))


@njit(cache=True)
def displace(keys, order, starts, words, slots, bits, tries):
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
            word = (np.uint64(2 * attempt + 1) << OWNER_BITS) | owner
            placed = first
            while placed < last:
                slot = slot_of(keys[placed], word, bits)
                if slots[slot] != EMPTY:
                    break
                slots[slot] = placed
                placed += 1
            if placed == last:
                words[bucket] = word
                found = True
                break
            for row in range(first, placed):
                slots[slot_of(keys[row], word, bits)] = EMPTY
        if not found:
            return place
    return -1


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
        slot = slot_of(hashed, word, bits)
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
