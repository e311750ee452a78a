"""Numba kernels of the metrics: sets of 64-bit fingerprints in open-addressing tables."""

from __future__ import annotations

import numpy as np

from evenkey.core.extras import load_extra

njit = load_extra("numba", "kernels", "counting the keys of each worker").njit
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
SHIFT_33 = np.uint64(33)
SHIFT_64 = np.uint64(64)
EMPTY = np.uint64(0)


@njit(cache=True, inline="always")
def fingerprint(key, salt):
    """Mix a key and a salt into 64 bits that are never `EMPTY`."""
    word = key + np.uint64(salt) * GOLDEN
    word = (word ^ (word >> SHIFT_33)) * MIX_1
    word = (word ^ (word >> SHIFT_33)) * MIX_2
    return max(word ^ (word >> SHIFT_33), np.uint64(1))


@njit(cache=True, inline="always")
def find(table, word):
    """Return the slot that a fingerprint has, or would get, in a table with a free slot."""
    mask = np.uint64(len(table) - 1)
    slot = word & mask
    while table[slot] != EMPTY and table[slot] != word:
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(cache=True, inline="always")
def insert(table, word):
    """Insert a fingerprint into a table with a free slot; return whether the fingerprint is new."""
    slot = find(table, word)
    new = table[slot] == EMPTY
    table[slot] = word
    return new


@njit(cache=True, inline="always")
def contains(table, word):
    """Return whether a table with a free slot has a fingerprint."""
    return table[find(table, word)] == word


@njit(cache=True)
def insert_all(table, words):
    """Insert all fingerprints of another table; return how many are new."""
    new = 0
    for word in words:
        if word != EMPTY and insert(table, word):
            new += 1
    return new


@njit(cache=True, inline="always")
def add_to(table, counts, word, count):
    """Add to the count of a fingerprint; return whether the fingerprint is new."""
    slot = find(table, word)
    new = table[slot] == EMPTY
    table[slot] = word
    counts[slot] += count
    return new


@njit(cache=True)
def add_all(table, counts, words, more):
    """Add the counts of another table; return how many of its fingerprints are new."""
    new = 0
    for i in range(len(words)):
        if words[i] != EMPTY and add_to(table, counts, words[i], more[i]):
            new += 1
    return new


@njit(cache=True, inline="always")
def _pair(key, worker, bits):
    """Make the word of a pair: the worker in the upper `bits` bits, a fingerprint in the rest."""
    word = fingerprint(key, worker + 1) >> bits
    return max((np.uint64(worker) << (SHIFT_64 - bits)) | word, np.uint64(1))


@njit(cache=True)
def keys_of_workers(pairs, bits, held):
    """Add the number of pairs of each worker to `held`."""
    for word in pairs:
        if word != EMPTY:
            held[word >> (SHIFT_64 - bits)] += 1


@njit(cache=True)
def workers_of_keys(pairs, bits, workers, hashes, counts):
    """Write into `counts` on how many of the workers each key is."""
    for i in range(len(hashes)):
        counts[i] = 0
        for worker in range(workers):
            counts[i] += contains(pairs, _pair(hashes[i], worker, bits))


@njit(cache=True)
def insert_pairs(pairs, keys, counts, workers, hashes, weights, bits, earlier):
    """Insert (worker, key) pairs and add to key counts.

    `earlier` has the pairs and the keys of earlier epochs. Return how many pairs and keys are new,
    how many pairs have moved, and the load of all moved pairs. A pair has moved if its key occurred
    in earlier epochs, but not on its worker.
    """
    earlier_pairs, earlier_keys = earlier
    new_pairs, new_keys, moved_pairs, moved_load = 0, 0, 0, 0
    for i in range(len(hashes)):
        pair, key = _pair(hashes[i], workers[i], bits), fingerprint(hashes[i], 0)
        weight = weights[i] if len(weights) else 1
        new = insert(pairs, pair)
        new_pairs += new
        if not contains(earlier_pairs, pair) and contains(earlier_keys, key):
            moved_pairs += new
            moved_load += weight
        if add_to(keys, counts, key, weight):
            new_keys += 1
    return new_pairs, new_keys, moved_pairs, moved_load
