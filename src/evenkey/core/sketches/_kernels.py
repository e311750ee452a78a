"""Numba kernels of SpaceSaving: no allocation per message.

The kernels work on the record arrays ``rows, table, heap, head``. The docstring of `Counters` in
`evenkey.core.sketches.space_saving` describes the layout of these arrays. Other kernels do not call
`update`, but contain a copy of its loop body, with `find` and `admit`: for a key that has a
counter, a call would take longer than the counting.
"""

from __future__ import annotations

import numpy as np

from evenkey.core.extras import load_extra

njit = load_extra("numba", "kernels", "counting hot keys message by message").njit
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
SHIFT_32 = np.uint64(32)
EMPTY = -1


@njit(cache=True, inline="always")
def _home(key, mask):
    """Return the slot where the search for a key begins; the product spreads unhashed keys."""
    return np.int64((key * GOLDEN) >> SHIFT_32) & mask


@njit(cache=True, inline="always")
def find(table, key):
    """Find the table slot of a key, or the empty slot where it belongs."""
    mask = len(table) - 1
    slot = _home(key, mask)
    while table[slot].row != EMPTY and table[slot].key != key:
        slot = (slot + 1) & mask
    return slot


@njit(cache=True)
def admit(rows, table, heap, head, key, weight, slot):
    """Give a key a counter, the lightest counter if none is free; return the row of the counter.

    `slot` is the result of `find` for the key; `weight` is positive. The caller adds the weight to
    the total.
    """
    row = head[0].held
    if row < len(rows):
        head[0].held = row + 1
        _write(rows, table, slot, row, key, weight, 0.0)
        if row + 1 == len(rows):
            _heapify(rows, heap)
        return row
    row = _lightest(rows, heap)
    floor = rows[row].count
    _forget(rows, table, rows[row].slot)
    _write(rows, table, find(table, key), row, key, floor + weight, floor)
    _settle(rows, heap, 0, row)
    return row


@njit(cache=True)
def update(rows, table, heap, head, keys, weights):
    """Count a batch of messages; messages of weight 0 change nothing."""
    for i in range(len(keys)):
        key = keys[i]
        weight = weights[i]
        slot = find(table, key)
        row = table[slot].row
        if row != EMPTY:
            rows[row].count += weight
        elif weight > 0:
            admit(rows, table, heap, head, key, weight, slot)
        head[0].total += weight


@njit(cache=True)
def load(rows, table, heap, head, keys, counts, errors):
    """Fill empty arrays with keys and their counts and errors."""
    head[0].held = len(keys)
    for row in range(len(keys)):
        slot = find(table, keys[row])
        _write(rows, table, slot, row, keys[row], counts[row], errors[row])
    if len(keys) == len(rows):
        _heapify(rows, heap)


@njit(cache=True, inline="always")
def _write(rows, table, slot, row, key, count, error):
    rows[row].key = key
    rows[row].count = count
    rows[row].error = error
    rows[row].slot = slot
    table[slot].key = key
    table[slot].row = row


@njit(cache=True)
def _forget(rows, table, slot):
    """Empty a table slot, and move back the entries that linear probing has moved past the slot."""
    mask = len(table) - 1
    following = slot
    while True:
        following = (following + 1) & mask
        row = table[following].row
        if row == EMPTY:
            break
        home = _home(table[following].key, mask)
        if (following - home) & mask >= (following - slot) & mask:
            table[slot].row = row
            table[slot].key = table[following].key
            rows[row].slot = slot
            slot = following
    table[slot].row = EMPTY


@njit(cache=True)
def _lightest(rows, heap):
    """Find the row of the lightest counter; update counts in the heap that are out of date."""
    row = heap[0].row
    while rows[row].count != heap[0].count:
        _settle(rows, heap, 0, row)
        row = heap[0].row
    return row


@njit(cache=True)
def _heapify(rows, heap):
    for row in range(len(rows) - 1, -1, -1):
        _settle(rows, heap, row, row)


@njit(cache=True)
def _settle(rows, heap, place, row):
    """Put the current count of a row into the heap at `place`; sift it below lighter entries."""
    key, count = rows[row].key, rows[row].count
    while True:
        child = 2 * place + 1
        if child >= len(heap):
            break
        other = child + 1
        if other < len(heap) and (
            heap[other].count < heap[child].count
            or (heap[other].count == heap[child].count and heap[other].key < heap[child].key)
        ):
            child = other
        if heap[child].count > count or (heap[child].count == count and heap[child].key > key):
            break
        heap[place] = heap[child]
        place = child
    heap[place].count = count
    heap[place].key = key
    heap[place].row = row
