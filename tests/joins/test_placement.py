"""Placements: which partitions are copied, how balanced loads are, what counts as a move."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.errors import ConfigurationError
from evenkey.joins.balance.epoch_log import EpochPlan
from evenkey.joins.balance.placement import Placement, divided
from evenkey.joins.static.manifest import StaticVersion


def by_hand(placement, loads, workers):
    total = [0.0] * workers
    for partition, load in enumerate(loads):
        shares = placement.copies.get(partition, {placement.owners[partition]: 1.0})
        for slot, share in shares.items():
            total[slot] += share * load
    return total


@pytest.mark.slow(4)
@given(
    st.integers(1, 12),
    st.lists(st.integers(0, 100), min_size=1, max_size=40),
    st.integers(0, 5000),
    st.integers(0, 5000),
)
def test_only_hot_partitions_are_copied_and_loads_are_balanced(workers, others, hot, second):
    loads = np.array([hot, *others, second], dtype=np.float64)
    before = Placement(tuple(number % workers for number in range(len(loads))))
    placed = divided(before, loads, workers)
    fair = loads.sum() / workers
    assert {partition for partition in placed.copies if loads[partition] <= fair} == set()
    assert sum(len(shares) - 1 for shares in placed.copies.values()) <= workers - 1
    for partition, shares in placed.copies.items():
        assert sum(shares.values()) == pytest.approx(1)
        assert placed.owners[partition] in shares
        assert len(shares) > 1
        assert len(shares) <= loads[partition] / fair + 2
    total = by_hand(placed, loads, workers)
    assert placed.loads(loads, workers).tolist() == pytest.approx(total)
    light = max((load for load in loads if load <= fair), default=0)
    assert max(total) <= 1.055 * fair + light + 1e-9
    # A second plan for the same loads moves nothing.
    assert divided(placed, loads, workers).came(placed) == ()


def test_sixty_per_cent_on_one_partition_of_ten_workers():
    loads = np.full(40, 0.4 / 39)
    loads[3] = 0.6
    before = Placement(tuple(number % 10 for number in range(40)))
    placed = divided(before, loads, 10)
    assert len(placed.copies[3]) == 6
    assert placed.loads(loads, 10).max() <= 0.1056
    # Each copy was loaded by a worker without it, except the first, which its owner had.
    assert placed.came(before).count(3) == 5
    assert Placement(before.owners).came(placed).count(3) == 0


def test_a_plan_keeps_its_copies():
    version = StaticVersion(1, "made-up")
    plan = EpochPlan(4, version, (0, 1, 1), copies={1: {0: 0.25, 1: 0.75}})
    again = EpochPlan.from_bytes(plan.to_bytes())
    assert again == plan
    assert [again.serves(slot, 1) for slot in range(3)] == [True, True, False]
    before = json.loads(plan.to_bytes())
    del before["format"]
    with pytest.raises(ConfigurationError, match=r"^log/plan is of format 1 .* an earlier version"):
        EpochPlan.from_bytes(json.dumps(before).encode(), "log/plan")
