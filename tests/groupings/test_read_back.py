"""Routers reject a memory or a snapshot with numbers out of range, before kernels use them."""

from __future__ import annotations

import numpy as np
import pytest

from evenkey.core.errors import RunError
from evenkey.groupings import parse

WORKERS = 4
KEYS = np.repeat(np.arange(9, dtype=np.uint64), [400, 60, 50, 40, 30, 20, 10, 5, 5])


def memory_of(name):
    """Return a router that has routed a stream, after its plan if it needs one, and its memory."""
    grouping = parse(name)
    router = grouping.router(WORKERS)
    if grouping.given_frequencies:
        keys, counts = np.unique(KEYS, return_counts=True)
        router.remember(grouping.plan(keys, counts.astype(float), WORKERS))
    router.route(KEYS, times=np.arange(len(KEYS), dtype=float))
    return router, router.memory()


def with_item(field, value):
    def changed(state):
        items = state["items"].copy()
        items[field][0] = value
        return {**state, "items": items}

    return changed


def with_array(name, value):
    return lambda state: {**state, name: np.asarray(value, dtype=state[name].dtype)}


WRONG = [
    ("potc", with_item("place", WORKERS)),
    ("on-greedy", with_item("place", -1)),
    ("on-greedy", with_item("place", 2**30)),
    ("cam", with_item("place", 4)),
    ("off-greedy", with_item("place", WORKERS)),
    ("dkg", with_item("pool", WORKERS + 1)),
    ("dkg", with_item("pool", 0)),
    ("dkg", with_array("clock", [0.0])),
    ("prompt", with_item("place", 2**30)),
    ("prompt", with_array("places", [2**20])),
    ("prompt", with_array("starts", [0])),
    ("prompt", with_array("cuts", [])),
]
SNAPSHOTS = [
    ("dchoices", with_array("tally", [1])),
    ("planned", with_array("sent", [1, 2])),
    ("planned", with_array("cells", [0] * 160)),
    ("planned", with_array("tally", [])),
]


@pytest.mark.parametrize(("name", "change"), WRONG)
def test_numbers_out_of_range_are_refused_when_they_are_remembered(name, change):
    _, memory = memory_of(name)
    parse(name).router(WORKERS).remember(memory)
    with pytest.raises(RunError, match="numbers out of range: delete the newest"):
        parse(name).router(WORKERS).remember(change(memory))


@pytest.mark.parametrize(("name", "change"), [case for case in WRONG if case[0] != "prompt"])
def test_they_are_refused_in_a_snapshot_too(name, change):
    snapshot = memory_of(name)[0].snapshot()
    with pytest.raises(RunError, match="numbers out of range: delete the newest"):
        parse(name).router(WORKERS).restore(change(snapshot))


@pytest.mark.parametrize(("name", "change"), SNAPSHOTS)
def test_a_snapshot_of_another_shape_is_refused(name, change):
    snapshot = memory_of(name)[0].snapshot()
    parse(name).router(WORKERS).restore(snapshot)
    with pytest.raises(RunError, match="numbers out of range: delete the newest"):
        parse(name).router(WORKERS).restore(change(snapshot))


@pytest.mark.parametrize("name", ["item", "capacity"])
def test_a_partitioner_with_numbers_out_of_range_is_refused(name):
    keys, counts = np.unique(KEYS, return_counts=True)
    grouping = parse("kip")
    plan = grouping.plan(keys, counts.astype(float), WORKERS)
    change = with_item("place", WORKERS) if name == "item" else with_array("capacity", [1.0])
    grouping.router(WORKERS).remember(plan)
    with pytest.raises(RunError, match="numbers out of range: delete the newest"):
        grouping.router(WORKERS).remember(change(plan))
