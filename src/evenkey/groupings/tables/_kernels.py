"""Numba kernels of the groupings that keep a routing table of `PLACE` records.

A kernel with an argument `start` routes messages from this index on, until the table is half full
or no message is left. It returns the index of the first message that is not routed yet. ``held[0]``
is the number of keys in the table.
"""

from __future__ import annotations

import numpy as np

from evenkey.core.extras import load_extra
from evenkey.groupings._kernels import find, second_choice

njit = load_extra("numba", "kernels", "a grouping that decides message by message").njit


@njit(cache=True)
def first_sight(keys, weights, start, held, table, everywhere, sent, out):
    """Route every message of a key to the worker that was chosen at the key's first message.

    If `everywhere` is true, the least loaded of all workers is chosen, else the less loaded of the
    key's two candidates.
    """
    workers = len(sent)
    weighted = len(weights) > 0
    limit = len(table) // 2
    for i in range(start, len(keys)):
        hashed = keys[i]
        slot = find(table, hashed)
        if table[slot].count == 0:
            if held[0] >= limit:
                return i
            held[0] += 1
            best = np.int64(hashed) % workers
            if everywhere:
                home = best
                for step in range(1, workers):
                    worker = home + step if home + step < workers else home + step - workers
                    if sent[worker] < sent[best]:
                        best = worker
            else:
                second = second_choice(hashed, best, workers)
                if sent[second] < sent[best]:
                    best = second
            table[slot].key = hashed
            table[slot].place = best
        weight = weights[i] if weighted else 1
        table[slot].count += weight
        worker = table[slot].place
        sent[worker] += weight
        out[i] = worker
    return len(keys)


@njit(cache=True)
def look_up(keys, workers, table, out):
    """Route each key by the table or, if it is not in the table, as key grouping does."""
    for i in range(len(keys)):
        slot = find(table, keys[i])
        out[i] = table[slot].place if table[slot].count != 0 else np.int64(keys[i]) % workers


@njit(cache=True)
def prefer_holders(keys, weights, start, held, table, most, cardinality, sent, out):
    """Route each message to a candidate that holds its key, unless this worker is overloaded.

    A worker is overloaded if its load is more than `most` times the mean load. The message then
    goes to the less loaded candidate. A key that no candidate holds goes to the candidate with
    fewer keys. In the place of a key, bit 0 is set if the first candidate holds the key, and bit 1
    if the second candidate holds it.
    """
    workers = len(sent)
    weighted = len(weights) > 0
    limit = len(table) // 2
    total = sent.sum()
    for i in range(start, len(keys)):
        hashed = keys[i]
        slot = find(table, hashed)
        if table[slot].count == 0 and held[0] >= limit:
            return i
        first = np.int64(hashed) % workers
        second = second_choice(hashed, first, workers)
        lighter = 2 if sent[second] < sent[first] else 1
        holders = table[slot].place
        if holders == 0:
            held[0] += 1
            table[slot].key = hashed
            chosen = lighter
            if cardinality[first] != cardinality[second]:
                chosen = 2 if cardinality[second] < cardinality[first] else 1
        else:
            chosen = lighter if holders == 3 else holders
            load = sent[second] if chosen == 2 else sent[first]
            if load * workers > most * total:
                chosen = lighter
        worker = second if chosen == 2 else first
        if holders & chosen == 0:
            cardinality[worker] += 1
            table[slot].place = holders | chosen
        weight = weights[i] if weighted else 1
        table[slot].count += weight
        sent[worker] += weight
        total += weight
        out[i] = worker
    return len(keys)


@njit(cache=True)
def count_keys(items, cardinality):
    """Count the keys that each worker holds, from the table entries that `prefer_holders` made."""
    workers = len(cardinality)
    for i in range(len(items)):
        first = np.int64(items[i].key) % workers
        if items[i].place & 1:
            cardinality[first] += 1
        if items[i].place & 2:
            cardinality[second_choice(items[i].key, first, workers)] += 1
