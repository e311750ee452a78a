"""Balance of plans from a sample beside plans from all rows, over 100 draws of the sample.

`groups`: plans of `groupBy` with whole and with split keys, of `over` and of `partition_for_write`,
which count keys in the same way. `joins`: plans of `join`. Inputs: 60 % of the rows on one key,
Zipf's law with z = 1.4, and with z = 1.0 (10 million keys for groups). A figure of a plan is its
maximum load over that of the plan from all rows, both with the true number of rows of each key.

    python -m benchmarks.sampled_balance                 # about four minutes on one core
    python -m benchmarks.sampled_balance groups --seeds 3
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.spark import test_sampled_balance as groups
from tests.spark import test_sampled_joins as joins

if TYPE_CHECKING:
    from collections.abc import Iterator

NEAR = 1.02
RIGHTS = ("one row per key", "few rows per key", "a hot key")


def of_groups(seeds: int) -> Iterator[dict[str, Any]]:
    """Yield the figures of plans of groups, with whole and with split keys."""
    for name in groups.INPUTS:
        keys = groups.keys_of(name)
        counted = np.unique(keys, return_counts=True)
        every = [
            groups.maximum(plan, counted) for plan in groups.plans_of(keys, np.ones(len(keys)))
        ]
        ratios: list[list[float]] = [[], []]
        for seed in range(seeds):
            drawn = np.random.default_rng(seed).random(len(keys)) < 1 / groups.weights()
            sampled = groups.plans_of(keys[drawn], groups.weights()[drawn])
            for found, plan, most in zip(ratios, sampled, every, strict=True):
                found.append(groups.maximum(plan, counted) / most)
        for kind, found, most in zip(("whole", "split"), ratios, every, strict=True):
            mean = len(keys) / groups.WORKERS
            yield {"input": name, "keys": kind, **figures(found, most / mean)}


def of_joins(seeds: int) -> Iterator[dict[str, Any]]:
    """Yield the figures of plans of joins."""
    for name in ("60 % on one key", "z = 1.4", "z = 1.0"):
        for right in RIGHTS:
            rows, of_right = joins.left_rows(name), joins.right_counts(right)
            counted = np.bincount(rows, minlength=joins.KEYS)
            work = joins.work_of(counted, of_right)

            def maximum(left: Any, spread: Any, most: int) -> float:
                plan, _ = joins.plan_of(left, spread, of_right, most, counted)  # noqa: B023
                loads = plan.loads_of(joins.HASHES, work, np.zeros(len(plan.owners)))  # noqa: B023
                return float(loads.max())

            every = maximum(counted, np.zeros(joins.KEYS, np.int64), 1)
            found = []
            for seed in range(seeds):
                drawn = np.random.default_rng(seed).random(len(rows)) < 1 / joins.weights()
                stand, keys = joins.weights()[drawn], rows[drawn]
                estimate, spread = (
                    np.bincount(keys, each, minlength=joins.KEYS).astype(np.int64)
                    for each in (stand, stand * (stand - 1))
                )
                found.append(maximum(estimate, spread, int(stand.max())) / every)
            mean = work.sum() / joins.WORKERS
            yield {"input": name, "right": right, **figures(found, every / mean)}


def figures(ratios: list[float], exact: float) -> dict[str, float]:
    """Return how balanced the plan from all rows is, and how plans from samples compare."""
    return {
        "max_over_mean_of_all_rows": float(exact),
        "median_ratio": float(np.median(ratios)),
        "worst_ratio": float(max(ratios)),
        "draws_above_2_percent": int(np.sum(np.array(ratios) > NEAR)),
        "draws": len(ratios),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=("groups", "joins"))
    parser.add_argument("--seeds", type=int, default=100, help="draws of the sample")
    given = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {}
    for what, measure in (("groups", of_groups), ("joins", of_joins)):
        if given.what in (None, what):
            found[what] = list(measure(given.seeds))
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
