"""The load that each mode of a join balances."""

from __future__ import annotations

import numpy as np
import pytest

from evenkey.joins import stream_static_join
from evenkey.joins.balance.distributor import DynamicDistributor
from evenkey.joins.balance.modes import Mode
from evenkey.joins.balance.work import PartitionWork

WORK = PartitionWork(np.array([4, 1]), np.array([0.5, 2.0]))


@pytest.mark.parametrize(("balance", "load"), [("rows", [4.0, 1.0]), ("load", [0.5, 2.0])])
@pytest.mark.parametrize("given", [None, DynamicDistributor(copies=False)])
def test_rows_are_counted_and_load_is_timed(balance, load, given):
    """These are the paper's DB and LB, also with a distributor that names no load."""
    made = stream_static_join._distributor(Mode(balance, cache_static=True), given)
    assert made is not None
    assert made.load is not None
    assert made.load(WORK).tolist() == load
    assert made.copies == (given is None)


@pytest.mark.parametrize("balance", ["rows", "load"])
def test_a_load_that_was_given_stays(balance):
    own = DynamicDistributor(load=lambda work: work.items + work.seconds)
    made = stream_static_join._distributor(Mode(balance, cache_static=True), own)
    assert made == own


def test_nothing_moves_without_a_balance():
    assert (
        stream_static_join._distributor(Mode(None, cache_static=True), DynamicDistributor()) is None
    )
