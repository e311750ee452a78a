"""Numba kernels of the streams: counter-based random numbers, alias tables and CSV records."""

from __future__ import annotations

import numpy as np

from evenkey.core.extras import load_extra

njit = load_extra("numba", "kernels", "a generated stream, or a CSV file with quoted fields,").njit
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
SHIFT_32 = np.uint64(32)
LOW_32 = np.uint64(0xFFFFFFFF)
FULL = 4294967296.0  # 2**32; chances are in units of 1 / FULL


@njit(cache=True, inline="always")
def random_word(seed, counter):
    """Return random word number `counter` of a seed, by splitmix64, which needs no state."""
    word = seed + (np.uint64(counter) + np.uint64(1)) * GOLDEN
    word = (word ^ (word >> np.uint64(30))) * MIX_1
    word = (word ^ (word >> np.uint64(27))) * MIX_2
    return word ^ (word >> np.uint64(31))


@njit(cache=True, inline="always")
def scaled(word, size):
    """Map a random word to 0..size-1: the upper half of word * size. size is below 2**32."""
    low = ((word & LOW_32) * np.uint64(size)) >> SHIFT_32
    return np.int64(((word >> SHIFT_32) * np.uint64(size) + low) >> SHIFT_32)


@njit(cache=True)
def uniform(seed, start, size, out):
    for i in range(len(out)):
        out[i] = scaled(random_word(seed, start + i), size)


@njit(cache=True)
def build_alias(weights, chance, alias):
    """Build Vose's alias table: column i is key i with chance `chance[i]` / 2**32, else `alias[i]`.

    The function overwrites `weights`. One array holds both work lists: the list of columns below
    their share grows from the left end of the array, and the list of the other columns grows from
    the right end.
    """
    size = len(weights)
    weights *= size / weights.sum()
    work = np.empty(size, np.int32)
    smalls, larges = 0, size
    for i in range(size):
        chance[i] = 0
        alias[i] = i  # for columns that rounding leaves without a partner
        if weights[i] < 1.0:
            work[smalls] = i
            smalls += 1
        else:
            larges -= 1
            work[larges] = i
    while smalls > 0 and larges < size:
        smalls -= 1
        low, high = work[smalls], work[larges]
        chance[low] = np.uint32(weights[low] * FULL)
        alias[low] = high
        weights[high] -= 1.0 - weights[low]
        if weights[high] < 1.0:
            larges += 1
            work[smalls] = high
            smalls += 1


@njit(cache=True)
def sample_alias(seed, start, chance, alias, out):
    """Draw keys: the upper half of word * size is the column, the next 32 bits choose its key."""
    size = len(chance)
    for i in range(len(out)):
        word = random_word(seed, start + i)
        column = scaled(word, size)
        toss = (word * np.uint64(size)) >> SHIFT_32
        out[i] = column if toss < np.uint64(chance[column]) else alias[column]


@njit(cache=True)
def prime_to(size, number):
    """Return the smallest number from `number` on, but at least 1, that is coprime to `size`."""
    number = max(number, 1)
    while True:
        one, other = number, size
        while other:
            one, other = other, one % other
        if one == 1:
            return number
        number += 1


@njit(cache=True)
def deal(seed, start, every, size, ids):
    """Replace ranks by keys, period by period; see `evenkey.core.streams.drift.Drift`."""
    first = scaled(random_word(seed, -1), size)
    step = prime_to(size, np.int64(0.618 * size))
    period, factor, shift = -1, 0, 0
    for i in range(len(ids)):
        if (start + i) // every != period:
            period = (start + i) // every
            factor = prime_to(size, scaled(random_word(seed, period), size))
            shift = (first + step * (period % size)) % size
        ids[i] = (factor * ids[i] + shift) % size


QUOTE, COMMA, FEED, RETURN = 34, 44, 10, 13
PLAIN, FIELD, OPEN, CLOSED, BROKEN = range(5)
MOST_LINES = 1000
MOST_BYTES = 1 << 20


@njit(cache=True)
def csv_record(text, begin, line_end, width, last):
    """Return the end of the CSV record at `begin`; -1 if the end depends on bytes after `text`.

    The function follows RFC 4180 strictly. If a record of several lines is invalid, only its first
    line counts as the record.
    """
    size = len(text)
    state, fields, lines, first = FIELD, 1, 1, 0
    for place in range(begin, size):
        byte = text[place]
        if state == OPEN:
            if byte == QUOTE:
                state = CLOSED
            elif byte == line_end:
                lines += 1
                first = first or place + 1
            if first and (lines > MOST_LINES or place - begin > MOST_BYTES):
                return first
            continue
        if byte == line_end:
            return first if first and width and fields != width else place + 1
        if state == BROKEN:
            continue
        if byte in (RETURN, FEED):
            if byte == FEED or (place + 1 < size and text[place + 1] not in (RETURN, FEED)):
                state = BROKEN
        elif byte == COMMA:
            fields += 1
            state = FIELD
        elif byte == QUOTE and state != PLAIN:
            state = OPEN
        else:
            state = BROKEN if state == CLOSED else PLAIN
        if first and (state == BROKEN or 0 < width < fields):
            return first
    if not last:
        return -1
    return first if first and (state == OPEN or (width and fields != width)) else size


@njit(cache=True)
def csv_records(text, line_end, width, last, ends):
    """Write the ends of all records in `text` to `ends`; return the number of known ends."""
    found, begin = 0, 0
    while begin < len(text):
        begin = csv_record(text, begin, line_end, width, last)
        if begin < 0:
            break
        ends[found] = begin
        found += 1
    return found
