"""Compute the fewest (worker, key) pairs of any plan, if one key is hot and all others are equal.

An integer program over kinds of workers: each kind has a number of whole cold keys, perhaps a part
of the hot key, and parts of split cold keys. The program does not decide which parts share a
worker (a relaxation), so no plan within the limit of max/mean has fewer pairs. It prints the pairs
per key, and their ratio to `dist_cost_lower_bound`, which ignores that whole keys leave capacity
into which no whole key fits.

    python -m benchmarks.least_pairs
"""

from __future__ import annotations

from itertools import product

import numpy as np
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table
from scipy.optimize import Bounds, LinearConstraint, milp

from evenkey.core.metrics import dist_cost_lower_bound

COLD = 203
"""Number of cold keys, as in the country streams."""
MOST = 1.10
CASES = ((0.1, 50), (0.1, 100), (0.2, 50), (0.2, 100), (0.3, 100))
"""Share of the hot key, and number of workers, for each case."""


def least_pairs(hot: float, workers: int, cold: int = COLD, most: float = MOST) -> int:
    """Return the fewest pairs of a plan whose maximum load is at most `most` times the mean.

    The variables of the program are, for each kind of worker: the number of workers, the number of
    parts of cold keys on them, the load of these parts, and the load of the hot key on them; and
    the number of split cold keys.
    """
    size, hot_load = (1 - hot) * workers / cold, hot * workers
    kinds = list(product(range(int(most / size) + 1), (False, True)))
    count = len(kinds)
    whole = np.array([kind[0] for kind in kinds], dtype=float)
    with_hot = np.array([kind[1] for kind in kinds], dtype=float)
    capacity = most - whole * size
    none, each, every = np.zeros((count, count)), np.eye(count), np.ones(count)
    nothing = np.zeros(count)
    limits = LinearConstraint(
        np.block(
            [
                [-np.diag(capacity), none, each, each, np.zeros((count, 1))],
                [none, -np.diag(np.minimum(size, capacity)), each, none, np.zeros((count, 1))],
                [-np.diag(capacity * with_hot), none, none, each, np.zeros((count, 1))],
            ]
        ),
        -np.inf,
        0,
    )
    sums = [
        ((whole, nothing, nothing, nothing, 1), cold, cold),
        ((nothing, nothing, every, nothing, -size), 0, 0),
        ((nothing, every, nothing, nothing, -2), 0, np.inf),  # a split key has at least two parts
        ((nothing, nothing, nothing, every, 0), hot_load, hot_load),
        ((every, nothing, nothing, nothing, 0), workers, workers),
    ]
    equal = [LinearConstraint(np.hstack(terms), low, high) for terms, low, high in sums]
    pairs = np.hstack([whole + with_hot, every, nothing, nothing, 0])
    numbers = np.hstack([every, every, nothing, nothing, 1])
    found = milp(pairs, integrality=numbers, bounds=Bounds(0), constraints=[limits, *equal])
    least: float = found.fun
    return round(least)


def main() -> None:
    table = Table(box=MARKDOWN)
    for heading in ("hot key", "W", "least of any plan, a key", "over dist_cost_lower_bound"):
        table.add_column(heading, justify="right")
    for hot, workers in CASES:
        load = np.full(COLD + 1, (1 - hot) / COLD)
        load[0] = hot
        bound = dist_cost_lower_bound(load * 1e9, workers)
        least = least_pairs(hot, workers) / (COLD + 1)
        table.add_row(f"{hot:.0%}", str(workers), f"{least:.3f}", f"{least / bound:.3f}")
    Console().print(table)


if __name__ == "__main__":
    main()
