"""Policies decide as their docstrings say; `mean` is the Dynamic Distributor."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.streams import generated
from evenkey.joins import DynamicDistributor
from evenkey.simulation import Observed, simulate_policies
from evenkey.simulation.policies import ByMean, ByMoves, ByRestart, parse_policy

LOADS = st.lists(
    st.lists(st.integers(0, 60), min_size=6, max_size=6), min_size=2, max_size=5
)  # of six partitions in some epochs


def observed(owners, loads, workers, unchanged=9):
    given = np.array(loads, dtype=np.float64)
    return Observed(
        np.array(owners, np.int32), given, given, np.ones(len(loads)), workers, unchanged
    )


def totals(owners, loads, workers):
    return [
        sum(load for o, load in zip(owners, loads, strict=True) if o == w) for w in range(workers)
    ]


@given(LOADS, st.integers(1, 4), st.sampled_from([0, 0.2, 0.5]), st.sampled_from([0, 0.1, 0.3]))
def test_mean_decides_as_the_dynamic_distributor(loads, workers, threshold, improvement):
    distributor = DynamicDistributor(
        threshold=threshold, min_improvement=improvement,
        min_items=0, wait_periods=1, period=10.0, copies=False,
    )  # fmt: skip
    placements = distributor.rehearse(loads, workers, epoch_seconds=10.0)
    policy = ByMean(threshold, improvement)
    owners = np.arange(6) % workers
    for epoch, placement in zip(loads, placements, strict=True):
        assert owners.tolist() == list(placement.owners)
        planned = policy.replan(observed(owners, epoch, workers))
        owners = owners if planned is None else planned


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.integers(1, 3), st.data())
def test_a_restart_needs_a_gain_and_gives_nearly_the_best_plan(loads, workers, data):
    owner = st.integers(0, workers - 1)
    owners = data.draw(st.lists(owner, min_size=len(loads), max_size=len(loads)))
    gain = data.draw(st.sampled_from([1.0, 1.3, 2.0]))
    most = max(totals(owners, loads, workers))
    placed = itertools.product(range(workers), repeat=len(loads))
    best = min(max(totals(each, loads, workers)) for each in placed)
    planned = ByRestart(gain=gain, wait=1).replan(observed(owners, loads, workers))
    if planned is None:
        assert most <= gain * best * 4 / 3  # Graham's bound of this plan
    else:
        found = max(totals(planned, loads, workers))
        assert most > gain * found
        assert best <= found <= best * 4 / 3


@pytest.mark.parametrize(("policy", "epochs"), [(ByRestart(), 3), (ByRestart(wait=5), 5)])
def test_a_restart_waits(policy, epochs):
    loads, owners = [9, 9, 9, 9], [0, 0, 0, 1]
    assert policy.replan(observed(owners, loads, 2, unchanged=epochs - 1)) is None
    planned = policy.replan(observed(owners, loads, 2, unchanged=epochs))
    assert planned is not None
    assert sorted(planned) == [0, 0, 1, 1]


@pytest.mark.parametrize(
    "spelling",
    [
        "hash",
        "restart",
        "restart(seconds=5)",
        "mean",
        "mean(threshold=0.2)",
        "moves",
        "moves(slack=0.03)",
    ],
)
def test_spellings(spelling):
    policy = parse_policy(spelling)
    assert str(policy) == spelling
    assert parse_policy(policy) is policy


def test_moves_give_little_state_away_first():
    state = np.array([50.0, 50.0, 10.0, 10.0])
    seen = observed([0, 0, 0, 1], [3, 3, 3, 3], 2)._replace(sizes=state)
    away, stays = [0, 0, 1, 1], [0, 0, 0, 1]
    for policy, owners in (
        (ByMoves(), away),
        (ByMoves(slack=0), away),
        (ByMoves(slack=0.5), stays),
    ):
        planned = policy.replan(seen)
        assert planned is not None
        assert planned.tolist() == owners


def test_moves_follow_capacities_that_nobody_named():
    """Seconds of work show which workers are slow; after some epochs the fast ones have more."""
    stream = generated("uniform(keys=3000)", messages=60_000)
    options: dict[str, Any] = {"workers": 4, "epoch_messages": 10_000, "capacities": "2:1:1:0.5"}
    hashed, moving = simulate_policies(stream, ["hash", "moves"], **options)
    assert min(epoch.max_over_fair for epoch in hashed.epochs) > 2
    assert moving.epochs[-1].max_over_fair < 1.15
    assert moving.makespan_ms < 0.7 * hashed.makespan_ms


def test_a_partition_above_the_mean_stays_and_its_neighbours_leave():
    stream = generated("country-skew-r80", messages=6000)
    policies = ["hash", "mean", "moves(slack=0.03)"]
    hashed, mean, moving = simulate_policies(stream, policies, workers=4, epoch_messages=1000)
    # The hot country alone is far above the mean, so MLDC can hardly fall.
    assert [each.moved_states for each in mean.epochs] == [0] * 6
    assert hashed.epochs[-1].max_over_limit > 1.04
    assert moving.epochs[-1].max_over_limit < 1.03
    assert all(each.moved_states == 0 for each in moving.epochs[3:])


def test_a_restart_reads_all_states_and_a_move_those_that_move():
    stream = generated("drift(z=1.0,keys=500,every=2000)", messages=8000)
    policies = ["hash", "mean(threshold=0.1,min_improvement=0)", "restart(wait=2,gain=1)"]
    hashed, moving, restarted = simulate_policies(stream, policies, workers=4, epoch_messages=1000)
    assert {epoch.read_bytes for epoch in hashed.epochs} == {0}
    assert sum(epoch.moved_states for epoch in moving.epochs) > 0
    for epoch in moving.epochs:
        assert epoch.read_bytes == 100 * epoch.moved_states
    pauses = [epoch.epoch for epoch in restarted.epochs if epoch.pause_ms]
    assert pauses
    assert min(np.diff([0, *pauses])) >= 2
    seen = [len({*stream.ids(0, 1000 * epoch)}) for epoch in pauses]
    assert [restarted.epochs[epoch].read_bytes for epoch in pauses] == [100 * each for each in seen]
