"""Numba kernels of the peers: they place the load of hot keys, and route keys by plans."""

from __future__ import annotations

import numpy as np

from evenkey.core.extras import load_extra
from evenkey.groupings._kernels import find, mix
from evenkey.groupings.planned._kernels import GOLDEN, piece_of

njit = load_extra("numba", "kernels", "a grouping that decides message by message").njit

SALT = 1 << 41
"""A salt that is far from the salts that choose candidates and sources. So the worker of a key
depends on neither its candidates nor its source."""
UPPER_53 = np.uint64(11)
UNIT = 2.0**-53


@njit(cache=True)
def place_rests(rests, homes, remaining, out):
    """Place the load of hot keys above the cut, largest first; return the number of pieces.

    A piece is the part of a key's load that goes to one worker.

    Parameters
    ----------
    rests
        The part of each hot key's load that is above the cut, descending; float64[r].
    homes
        The worker that already holds each hot key, int64[r].
    remaining
        The load that each worker can still take; updated in place; float64[W].
    out
        Three output arrays with one entry per piece: row of the key in `rests`, worker, load.
    """
    rows, workers, parts = out
    count = 0
    for row in range(len(rests)):
        rest = rests[row]
        least = 1e-12 * rest
        while rest > least:
            home, best, most = homes[row], -1, 0
            for worker in range(len(remaining)):
                if remaining[worker] >= rest and (best < 0 or remaining[worker] < remaining[best]):
                    best = worker
                if remaining[worker] > remaining[most]:
                    most = worker
            part = rest
            if remaining[home] >= rest:
                best = home
            elif best < 0:
                # The rest fits on no worker as a whole. It first fills the worker that holds the
                # key, then the worker with the most remaining load.
                best = home if remaining[home] > least else most
                # Because of rounding, the remaining load of all workers can be less than the rest.
                part = min(rest, remaining[best]) if remaining[best] > least else rest
            rows[count], workers[count], parts[count] = row, best, part
            count += 1
            remaining[best] -= part
            rest -= part
    return count


@njit(cache=True)
def deal(keys, workers, table, split, dealt, offset, out):
    """Route whole keys and split keys by the plan, and keys outside the plan as ``kg`` does."""
    starts, places, cuts = split
    for i in range(len(keys)):
        slot = find(table, keys[i])
        if table[slot].count == 0:
            out[i] = np.int64(keys[i]) % workers
            continue
        place = np.int64(table[slot].place)
        if place >= workers:
            row = place - workers
            point = (dealt[row] * GOLDEN + offset) % 1.0
            dealt[row] += 1
            place = np.int64(places[piece_of(starts, cuts, row, point)])
        out[i] = place


@njit(cache=True)
def isolate(keys, table, cuts, out):
    """Route isolated keys by the plan, and other keys to the worker whose range has their hash."""
    for i in range(len(keys)):
        slot = find(table, keys[i])
        if table[slot].count != 0:
            out[i] = table[slot].place
            continue
        point = np.float64(mix(keys[i], SALT) >> UPPER_53) * UNIT
        low, high = 0, len(cuts) - 1
        while low < high:
            middle = (low + high) // 2
            if point < cuts[middle]:
                high = middle
            else:
                low = middle + 1
        out[i] = low
