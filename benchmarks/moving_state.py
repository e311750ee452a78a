"""Balance and moves of keyed state on a drifting stream, without Spark: decisions 281 and 298.

A million keyed states, rows by Zipf's law with z = 1.2, ten workers, epochs of 500,000 rows. Every
few epochs other keys become hot. `limit` is the mean load of a worker or the load of the hottest
key, whichever is larger. ``--hashes N`` hashes the keys in N ways, and sums up the epochs whose hot
keys the previous epoch had shown. ``--shared`` leaves hot keys in the partitions of their hashes.

    python -m benchmarks.moving_state                # a table, in a few seconds
    python -m benchmarks.moving_state --shared --partitions 640
    python -m benchmarks.moving_state --epochs 63 --every 3 --hashes 8  # one line, in a minute
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenkey.core.hashing import hash_longs
from evenkey.core.planners import moved
from evenkey.spark.states.own_partitions import COLD, chosen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

KEYS, WORKERS, ROWS, Z = 1_000_000, 10, 500_000, 1.2
SHIFT = 37_000


class Epoch(NamedTuple):
    """Figures of an epoch, and of the plan that follows it."""

    over_limit: float
    partitions: int
    moves: int
    moved: float
    seconds: float


def stream(given: Any) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the keys of each epoch, and their numbers of rows."""
    random = np.random.default_rng(given.seed)
    shares = np.cumsum(1 / np.arange(1, KEYS + 1) ** Z)
    epochs = []
    for epoch in range(given.epochs):
        ranks = np.searchsorted(shares, random.random(ROWS) * shares[-1])
        keys = (ranks + epoch // given.every * SHIFT) % KEYS
        epochs.append(np.unique(keys, return_counts=True))
    return epochs


def run(
    epochs: list[tuple[NDArray[np.int64], NDArray[np.int64]]], number: int, given: Any
) -> Iterator[Epoch]:
    """Yield the figures of each epoch, for one hashing of the keys."""
    count = given.partitions
    of_key = hash_longs(np.arange(KEYS) + number * KEYS * 7919).astype(np.int64) % count
    owners = (np.arange(count) % WORKERS).astype(np.int32)
    hashed = np.bincount(of_key, minlength=count).astype(np.float64)
    own: tuple[int | None, ...] = ()
    for keys, counts in epochs:
        mean = counts.sum() / WORKERS
        warm = counts >= COLD * mean
        loads_of = dict(zip(keys[warm].tolist(), counts[warm].tolist(), strict=True))
        shared = np.bincount(of_key[keys], counts, minlength=count)

        def loads(
            own: tuple[int | None, ...], shared: Any = shared, loads_of: Any = loads_of
        ) -> Any:
            found = np.concatenate((shared, np.zeros(len(own))))
            for at, key in enumerate(own, count):
                if key is not None:
                    found[at] = loads_of.get(key, 0)
                    found[of_key[key]] -= found[at]
            return found

        of_worker = np.bincount(owners, loads(own), minlength=WORKERS)
        started = time.perf_counter()
        following = () if given.shared else chosen(own, loads_of, mean)
        before = np.concatenate((owners, np.zeros(len(following), dtype=np.int32)))
        before = before[: count + len(following)]
        sizes = np.concatenate((hashed, np.ones(len(following))))
        for at, key in enumerate(following):
            if key is not None and key not in own:
                # Its worker reads the partition in which the state of the key is.
                before[count + at], sizes[count + at] = owners[of_key[key]], hashed[of_key[key]]
        owners, own = moved(before, loads(following), sizes, WORKERS), following
        moves = owners != before
        yield Epoch(
            of_worker.max() / max(mean, counts.max()),
            sum(key is not None for key in own),
            int(moves.sum()),
            float(sizes[moves].sum() / hashed.sum()),
            time.perf_counter() - started,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for name, default in (
        ("partitions", 16 * WORKERS),
        ("seed", 1),
        ("epochs", 24),
        ("every", 6),
        ("hashes", 0),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--shared", action="store_true", help="hot keys have no partitions")
    given = parser.parse_args()
    epochs = stream(given)
    if not given.hashes:
        sys.stdout.write(
            "epoch  max/limit  of hot keys  moved partitions  moved states  planning\n"
        )
        for number, each in enumerate(run(epochs, 0, given)):
            sys.stdout.write(
                f"{number:5}  {each.over_limit:9.3f}  {each.partitions:11}  {each.moves:16}  "
                f"{each.moved:12.1%}  {1000 * each.seconds:5.1f} ms\n"
            )
        return
    runs = [[*run(epochs, number, given)] for number in range(given.hashes)]
    shown = [
        each.over_limit
        for of_run in runs
        for number, each in enumerate(of_run)
        if number > 1 and number % given.every
    ]
    sys.stdout.write(
        f"max/limit {max(shown):.3f}; above 1.05 in {np.mean(np.array(shown) > 1.05):.1%} of "
        f"{len(shown)} epochs; partitions of hot keys at most "
        f"{max(each.partitions for of_run in runs for each in of_run)}; moved states "
        f"{np.mean([each.moved for of_run in runs for each in of_run]):.1%} an epoch\n"
    )


if __name__ == "__main__":
    main()
