"""Plans and lookups equal those of the planner that numba compiled, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenkey.groupings.planned import OFFSET, compile_plan, make_plan, plan
from tests.groupings.planned import compiled

EPOCHS = 3
PART = 100
"""Seeds of one part of the slow test, which has ten parts."""


def loads_of(random, size):
    """Draw loads, in some problems with ties, with a few hot items, or with items without load."""
    kind = random.integers(4)
    if kind == 0:
        return random.integers(0, 5, size).astype(np.float64)
    loads = random.random(size) if kind == 1 else random.zipf(1.2, size).astype(np.float64)
    return np.minimum(loads, 1e9) * random.choice([1.0, 1 / 3, 1e-12])


def problem_of(random):
    """Draw keys, capacities and a function that draws the other arguments of an epoch's plan."""
    workers, buckets = int(random.integers(1, 70)), 1 << int(random.integers(0, 9))
    keys = np.unique(random.integers(0, 2**64, random.integers(0, 300), dtype=np.uint64))
    crafted = random.integers(20)
    if crafted == 0:  # hashes that agree in most of their upper bits need many tries
        keys = np.unique(keys & np.uint64(0x7_0000_03FF))
    elif crafted == 1:  # hashes that every multiplier maps to slot 0, so that only one is stored
        keys = np.unique(keys % np.uint64(2**32) | np.uint64(2**32 - OFFSET << 32))
    random.shuffle(keys)
    capacities = random.choice([1.0, 1.0, 2.0, 1e-6], workers)
    counted = random.random() < 0.3

    def epoch():
        options = {"tolerance": random.choice([0.0, 0.005, 0.06]), "stickiness": 0.005}
        if counted:
            options["bucket_keys"] = random.integers(0, 30, buckets).astype(np.float64)
        part = keys[: random.integers(0, len(keys), endpoint=True)]
        return (part, loads_of(random, len(part)), loads_of(random, buckets), capacities), options

    return epoch


def check(seed, monkeypatch):
    random = np.random.default_rng(seed)
    planner: Any = make_plan
    epoch, previous = problem_of(random), None
    for _ in range(EPOCHS):
        problem, options = epoch()
        found = planner(*problem, previous, **options)
        with monkeypatch.context() as patch:
            patch.setattr(plan, "fill", compiled.fill)
            expected = planner(*problem, previous, **options)
        np.testing.assert_equal(found.to_arrays(), expected.to_arrays())
        np.testing.assert_equal(tuple(compile_plan(found)[:3]), compiled.compile_plan(found))
        previous = found


@pytest.mark.parametrize("seed", range(20))
def test_a_plan_equals_the_compiled_one(seed, monkeypatch):
    check(seed, monkeypatch)


@pytest.mark.slow(4)
@pytest.mark.parametrize(
    "first",
    [0, *(pytest.param(n * PART, marks=pytest.mark.soak) for n in range(1, 10))],
)
def test_a_thousand_plans_equal_the_compiled_ones(first, monkeypatch):
    for seed in range(first, first + PART):
        check(seed, monkeypatch)
