"""Algorithm 1: its conditions, its window and its parameters."""

from __future__ import annotations

import json

import numpy as np
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.joins.balance.distributor import DynamicDistributor, Window
from evenkey.joins.balance.placement import Placement
from evenkey.joins.balance.work import PartitionWork, items

BEFORE = Placement((0, 1, 2, 3, 0, 1, 2, 3))
SKEWED = [500, 10, 10, 10, 500, 10, 10, 10]


def work(counts, seconds=None):
    counts = np.array(counts, dtype=np.int64)
    return PartitionWork(counts, counts / 1000 if seconds is None else np.array(seconds))


def after(distributor, counts, now, window=None, before=BEFORE, epoch=1, began=0.0):
    window = distributor.take_in(window or Window(), work(counts), began=began, now=now)
    return distributor.look(window, before, 4, now=now, epoch=epoch)


def moved(outcome):
    return outcome[1] != BEFORE


def test_skew_moves_partitions_once_the_first_period_has_passed():
    assert not moved(after(DynamicDistributor(), SKEWED, now=9.9))
    window, placed = after(DynamicDistributor(), SKEWED, now=10.0)
    assert placed.owners[0] != placed.owners[4]
    assert window.redistributed == 10.0


def test_threshold():
    mild = [250, 100, 100, 100, 50, 100, 100, 100]  # MLDC 1/3
    assert not moved(after(DynamicDistributor(min_items=0, min_improvement=0), mild, now=10))
    eager = DynamicDistributor(threshold=0.3, min_items=0, min_improvement=0)
    assert moved(after(eager, mild, now=10))


def test_min_items():
    assert not moved(after(DynamicDistributor(min_items=1061), SKEWED, now=10))
    assert moved(after(DynamicDistributor(min_items=1060), SKEWED, now=10))


def test_min_items_is_a_guard_at_the_beginning_and_no_rate():
    slow, window = DynamicDistributor(), Window()
    moves = []
    for epoch in range(1, 31):  # an epoch is a minute, so the window never has more than 106 items
        counts = [each // 10 for each in SKEWED]
        window = Window(**json.loads(json.dumps(window.to_json())))
        window, placed = after(slow, counts, 60.0 * epoch, window, epoch=epoch)
        moves.append(placed != BEFORE)
    assert len(window.epochs) == 1
    assert moves == [106 * epoch >= 1000 for epoch in range(1, 31)]


def test_an_item_that_came_to_several_partitions_is_one_item():
    counts = np.array(SKEWED, dtype=np.int64)
    for distinct, expected in ((999, False), (1000, True)):
        taken = PartitionWork(counts, counts / 1000, distinct)
        window = DynamicDistributor().take_in(Window(), taken, began=0.0, now=10.0)
        assert window.items == distinct
        outcome = DynamicDistributor().look(window, BEFORE, 4, now=10.0, epoch=1)
        assert moved(outcome) == expected


def test_min_improvement():
    alone = [1000, 1, 1, 1, 0, 0, 0, 0]  # one partition has almost all of the load
    assert not moved(after(DynamicDistributor(copies=False), alone, now=10))
    assert moved(after(DynamicDistributor(), alone, now=10))
    gain = DynamicDistributor(min_improvement=3.0)
    assert not moved(after(gain, SKEWED, now=10))


def test_wait_periods():
    patient = DynamicDistributor()
    window, placed = after(patient, SKEWED, now=10)
    owners = np.array(placed.owners)
    flipped = [10, 10, 10, 10, 10, 10, 10, 10]
    busy = np.flatnonzero(owners == np.bincount(owners).argmax())
    for partition in busy[:2]:
        flipped[partition] = 5000
    for epoch, now in enumerate([20, 30, 39], start=2):
        window, same = after(patient, flipped, now, window, placed, epoch)
        assert same == placed
    assert after(patient, flipped, 40, window, placed, 5)[1] != placed


def test_window_forgets_what_is_older_than_the_wait():
    distributor = DynamicDistributor()
    window = Window()
    for now in (10, 20, 30, 40, 50):
        window = distributor.take_in(window, work([now] * 8), began=0.0, now=now)
    assert [each[0] for each in window.epochs] == [30, 40, 50]
    assert Window(**json.loads(json.dumps(window.to_json()))).checked == 0.0


def test_metric_and_planner_are_pluggable():
    seconds = [0.0, 1, 1, 1, 0, 1, 1, 1]
    taken = DynamicDistributor(load=items).take_in(
        Window(), work(SKEWED, seconds), began=0.0, now=5.0
    )
    assert taken.epochs[0][1] == SKEWED
    by_time = DynamicDistributor().take_in(Window(), work(SKEWED, seconds), began=0.0, now=5.0)
    assert by_time.epochs[0][1] == seconds
    fixed = np.array([3, 1, 2, 3, 0, 1, 2, 3], dtype=np.int32)
    own = DynamicDistributor(planner=lambda *_: fixed, copies=False)
    assert after(own, SKEWED, now=10)[1] == Placement(tuple(fixed.tolist()))


def test_a_forced_redistribution_asks_for_no_condition():
    forced = DynamicDistributor(forced=(3,), min_items=10**9)
    assert not moved(after(forced, SKEWED, now=10, epoch=2))
    assert moved(after(forced, SKEWED, now=1, epoch=3))
    placed = after(forced, [9] * 8, now=1, epoch=3)[1]
    assert placed == Placement((1, 2, 3, 0, 1, 2, 3, 0))
    # Before the first epoch has ended, no load is known.
    assert forced.look(Window(), BEFORE, 4, now=1.0, epoch=3) == (Window(), BEFORE)


def test_nothing_moves_without_load():
    assert not moved(after(DynamicDistributor(min_items=0), [0] * 8, now=10))


@pytest.mark.parametrize(
    "bad", [{"period": 0}, {"min_items": -1}, {"threshold": -0.1}, {"load_clock": "sun"}]
)
def test_parameters_are_checked(bad):
    with pytest.raises(ConfigurationError, match=next(iter(bad))):
        DynamicDistributor(**bad)
