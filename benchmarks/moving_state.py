"""Balance and moves of keyed state on a drifting stream, without Spark: figures of decision 281.

A million keyed states, rows by Zipf's law with z = 1.2, ten workers, epochs of 500,000 rows. Every
six epochs other keys become hot. `limit` is the mean load of a worker or the load of the hottest
key, whichever is larger.

    python -m benchmarks.moving_state                # a table, in a few seconds
    python -m benchmarks.moving_state --partitions 640
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from evenkey.core.hashing import hash_longs
from evenkey.core.planners import moved

KEYS, WORKERS, ROWS, Z = 1_000_000, 10, 500_000, 1.2
EPOCHS, EVERY, SHIFT = 24, 6, 37_000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--partitions", type=int, default=16 * WORKERS)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    random, partitions = np.random.default_rng(given.seed), given.partitions
    of_key = hash_longs(np.arange(KEYS)).astype(np.int64) % partitions
    owners = (np.arange(partitions) % WORKERS).astype(np.int32)
    sizes = np.bincount(of_key, minlength=partitions).astype(np.float64)
    shares = np.cumsum(1 / np.arange(1, KEYS + 1) ** Z)
    sys.stdout.write("epoch  max/limit  moved partitions  moved states  planning\n")
    for epoch in range(EPOCHS):
        ranks = np.searchsorted(shares, random.random(ROWS) * shares[-1])
        keys = (ranks + epoch // EVERY * SHIFT) % KEYS
        loads = np.bincount(of_key[keys], minlength=partitions).astype(np.float64)
        of_worker = np.bincount(owners, loads, minlength=WORKERS)
        limit = max(of_worker.mean(), np.bincount(keys).max())
        started = time.perf_counter()
        planned = moved(owners, loads, sizes, WORKERS)
        spent = time.perf_counter() - started
        moves = planned != owners
        share = sizes[moves].sum() / sizes.sum()
        sys.stdout.write(
            f"{epoch:5}  {of_worker.max() / limit:9.3f}  {moves.sum():16}  {share:12.1%}  "
            f"{1000 * spent:5.1f} ms\n"
        )
        owners = planned


if __name__ == "__main__":
    main()
