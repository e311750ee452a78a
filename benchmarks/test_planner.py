"""Speed of planning a million distinct keys on a thousand workers, given a previous plan.

A round makes a plan from the counts of the keys, close to the previous plan, and the plan's lookup
table, as happens between two epochs. It runs on one core. The figure is that of the median round.
"""

from __future__ import annotations

import numpy as np
import pytest

from evenkey.groupings import PlannedGrouping
from evenkey.groupings.planned import Plan, compile_plan

KEYS, WORKERS, TARGET = 1_000_000, 1000, 1.0


@pytest.mark.benchmark
@pytest.mark.parametrize("tracked", [None, KEYS])
def test_planning(benchmark, report, tracked):
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 2**64, KEYS, dtype=np.uint64)
    counts = rng.permutation(np.maximum(1.0, np.round(5e6 / np.arange(1, KEYS + 1))))
    grouping = PlannedGrouping() if tracked is None else PlannedGrouping(tracked=tracked)
    before = grouping.plan(keys, counts, WORKERS)

    def plan():
        return compile_plan(Plan.from_arrays(grouping.replan(keys, counts, WORKERS, before)))

    benchmark.pedantic(plan, rounds=5, warmup_rounds=1)
    what = f"a plan of {KEYS:,} keys, W = {WORKERS}, {grouping}"
    report(what, f"{benchmark.stats.stats.median:.2f} s", f"< {TARGET} s")
