"""Numba kernels of the streams: counter-based random numbers and alias tables."""

from __future__ import annotations

import numpy as np
from numba import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)


@njit(cache=True, inline="always")
def random_word(seed, counter):
    """Random 64 bits number `counter` of a seed: splitmix64, which is random access."""
    word = seed + (np.uint64(counter) + np.uint64(1)) * GOLDEN
    word = (word ^ (word >> np.uint64(30))) * MIX_1
    word = (word ^ (word >> np.uint64(27))) * MIX_2
    return word ^ (word >> np.uint64(31))


@njit(cache=True, inline="always")
def scaled(word, size):
    """Scale the upper half of a random word to 0..size-1."""
    return np.int64(((word >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32))


@njit(cache=True)
def uniform_words(seed, start, out):
    for i in range(len(out)):
        out[i] = random_word(seed, start + i)


@njit(cache=True)
def uniform(seed, start, size, out):
    for i in range(len(out)):
        out[i] = scaled(random_word(seed, start + i), size)


@njit(cache=True)
def build_alias(weights, chance, alias):
    """Vose's alias table: column i stands for i with `chance[i]` of 2**32, else for `alias[i]`."""
    size = len(weights)
    scale = size / weights.sum()
    small, large = np.empty(size, np.int64), np.empty(size, np.int64)
    smalls, larges = 0, 0
    rest = weights * scale
    for i in range(size):
        if rest[i] < 1.0:
            small[smalls] = i
            smalls += 1
        else:
            large[larges] = i
            larges += 1
    while smalls and larges:
        smalls -= 1
        low, high = small[smalls], large[larges - 1]
        chance[low] = np.uint32(min(rest[low] * 4294967296.0, 4294967295.0))
        alias[low] = high
        rest[high] -= 1.0 - rest[low]
        if rest[high] < 1.0:
            larges -= 1
            small[smalls] = high
            smalls += 1
    while larges:
        larges -= 1
        chance[large[larges]] = np.uint32(4294967295)
        alias[large[larges]] = large[larges]
    while smalls:
        smalls -= 1
        chance[small[smalls]] = np.uint32(4294967295)
        alias[small[smalls]] = small[smalls]


@njit(cache=True)
def sample_alias(seed, start, chance, alias, out):
    size = len(chance)
    for i in range(len(out)):
        word = random_word(seed, start + i)
        column = scaled(word, size)
        toss = np.uint32(word & np.uint64(0xFFFFFFFF))
        out[i] = column if toss <= chance[column] else alias[column]
