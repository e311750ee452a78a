"""Numba kernels of the groupings: no allocation and no dictionary per message.

In all kernels, `keys` is uint64[n]. `weights` is int64[n], or empty if each message weighs 1.
The worker of each message is written into `out`, int32[n].
"""

from __future__ import annotations

import numpy as np

from evenkey.core.extras import load_extra

njit = load_extra("numba", "kernels", "a grouping that decides message by message").njit
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
SHIFT_33 = np.uint64(33)
SHIFT_32 = np.uint64(32)
DEPARTED, BABY, OLD = -1, 0, 2


@njit(cache=True, inline="always")
def mix(key, salt):
    """Derive hash number `salt` from a key's hash, as `evenkey.core.hashing.mix` does."""
    key = key + np.uint64(salt) * GOLDEN
    key ^= key >> SHIFT_33
    key *= MIX_1
    key ^= key >> SHIFT_33
    key *= MIX_2
    key ^= key >> SHIFT_33
    return key


@njit(cache=True, inline="always")
def scaled(key, workers):
    """Map the upper half of a hash to 0..workers-1 without a division."""
    return np.int64(((key >> SHIFT_32) * np.uint64(workers)) >> SHIFT_32)


@njit(cache=True, inline="always")
def second_choice(hashed, first, workers):
    """Find the second candidate of a key, different from the first if W > 1."""
    second = scaled(mix(hashed, 1), workers)
    if second == first:
        second = second + 1 if second + 1 < workers else 0
    return second


@njit(cache=True)
def partial_key(keys, weights, choices, distinct, sent, out):
    """Send each message to the least loaded of its key's candidates.

    If `distinct` is true, `choices` must be at most the number of workers.
    """
    workers = len(sent)
    weighted = len(weights) > 0
    # For each worker, the last message of which it was a candidate. Because each message has
    # another number, nothing has to be cleared between messages.
    taken = np.full(workers, -1)
    for i in range(len(keys)):
        hashed = keys[i]
        best = np.int64(hashed) % workers
        least = sent[best]
        taken[best] = i
        for j in range(1, choices):
            worker = scaled(mix(hashed, j), workers)
            if distinct:
                while taken[worker] == i:
                    worker = worker + 1 if worker + 1 < workers else 0
                taken[worker] = i
            if sent[worker] < least:
                least = sent[worker]
                best = worker
        sent[best] += weights[i] if weighted else 1
        out[i] = best


@njit(cache=True, inline="always")
def find(table, hashed):
    """Find the slot of a key in the open-addressing table, or the free slot where it would go."""
    mask = len(table) - 1
    slot = np.int64((hashed * GOLDEN) >> SHIFT_32) & mask
    while table[slot].count != 0 and table[slot].key != hashed:
        slot = (slot + 1) & mask
    return slot


@njit(cache=True)
def insert_all(table, items):
    """Put items into an empty table that is large enough."""
    for i in range(len(items)):
        slot = find(table, items[i].key)
        table[slot] = items[i]


@njit(cache=True)
def items_of(table):
    """Copy the items out of a table, in the order of its slots."""
    held = 0
    for slot in range(len(table)):
        held += table[slot].count != 0
    # Copy every slot without a branch. The copy of a free slot is overwritten by the next copy.
    items = np.empty(held + 1, table.dtype)
    place = 0
    for slot in range(len(table)):
        items[place] = table[slot]
        place += table[slot].count != 0
    return items[:held]


@njit(cache=True)
def slots_of(table, items):
    """Find the slots of items that are in a table."""
    slots = np.empty(len(items), np.int64)
    for i in range(len(items)):
        slots[i] = find(table, items[i].key)
    return slots


@njit(cache=True)
def dynamic_key(keys, times, weights, start, clock, tally, table, checked, sent, rules, out):
    """Route messages from `start` on until the caller has to act.

    The caller has to act when a promotion cycle is due, when a message is far behind the clock, or
    when the table is half full.

    Parameters
    ----------
    clock
        float64[2]: time of the first message, time of the next promotion cycle.
    tally
        int64[3]: weight of the messages sent, keys in the table, keys ever seen.
    table
        Open-addressing hash table of the hot fields of `ITEM` records. Its length is a power of
        two. A count of 0 marks a free slot.
    checked
        float64, time of the last scaling check of the key in each slot. The next check is due when
        more than the check interval has passed. If the interval is 0, this array is empty and
        unused.
    sent
        int64[W], weight of the messages sent to each worker.
    rules
        Tuple: scale-out threshold and scale-in threshold (percent); warm-up and check interval
        (seconds); initial and largest size of a pool; whether loads are counted in whole percents;
        whether one check can shrink a pool by more than one worker; and a number of seconds. A
        message is far behind the clock if it is more than this number of seconds before the next
        promotion cycle.

    Returns
    -------
    int
        Index of the first message that is not routed yet.
    """
    scale_out, scale_in, warm_up, check_interval = rules[:4]
    initial_pool, largest_pool, whole, recursive, most_behind = rules[4:]
    workers = len(sent)
    limit = len(table) // 2
    weighted = len(weights) > 0
    paced = len(checked) > 0
    folds = recursive and scale_in <= scale_out
    far_behind = clock[1] - most_behind
    total, held, ever = tally[0], tally[1], tally[2]
    # Two copies of the loads, one after the other. So every pool is a contiguous slice, and no
    # index has to wrap around.
    ring = np.concatenate((sent, sent))
    end = len(keys)
    for i in range(start, len(keys)):
        now = times[i]
        weight = weights[i] if weighted else 1
        if now >= clock[1] or now < far_behind:
            end = i
            break
        hashed = keys[i]
        slot = find(table, hashed)
        item = table[slot]
        due = False
        if item.count == 0 or item.space == DEPARTED:
            if item.count == 0:
                if held >= limit:
                    end = i
                    break
                item.key = hashed
                item.pool = initial_pool
                held += 1
            item.count = 0
            item.space = BABY
            if paced:
                checked[slot] = -np.inf
            item.order = ever
            ever += 1
        else:
            due = not paced or now - checked[slot] > check_interval
            if due and paced:
                checked[slot] = now
        item.count += weight
        item.seen = now

        home = np.int64(hashed) % workers
        pool = np.int64(item.pool)
        # Loads are whole numbers, so limits can be rounded up to integers, which compare faster.
        out_limit = np.int64(np.ceil(scale_out if whole else scale_out * total / 100.0))
        in_limit = np.int64(np.ceil(scale_in if whole else scale_in * total / 100.0))
        while True:
            best, least, below = home, np.iinfo(np.int64).max, 0
            for worker in range(home, home + pool):
                load = ring[worker]
                if whole and total > 0:
                    load = load * 100 // total
                if load < in_limit:
                    below += 1
                    if below == 2 and due and folds and worker - home >= initial_pool:
                        # Shrinking the pool step by step would end here, with the workers before
                        # this one.
                        pool = worker - home
                        due = False
                        break
                if load < least:
                    least = load
                    best = worker
            if not due:
                break
            if item.space == OLD and least >= out_limit and now - clock[0] > warm_up:
                if pool < largest_pool:
                    load = ring[home + pool]
                    if whole and total > 0:
                        load = load * 100 // total
                    if load < least:
                        best = home + pool
                        pool += 1
                break
            if pool > initial_pool and below >= 2:
                pool -= 1
                due = recursive
            else:
                break
        item.pool = pool
        if best >= workers:
            best -= workers
        ring[best] += weight
        ring[best + workers] += weight
        total += weight
        out[i] = best
    sent[:] = ring[:workers]
    tally[0], tally[1], tally[2] = total, held, ever
    return end
