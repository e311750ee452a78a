"""Plans of a groupBy in `state`: they are checked when they are read, and runs replace them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.groupings import PlannedGrouping, unplanned
from evenkey.spark.groups.group_plans import GroupPlans
from evenkey.spark.plans.tables import RoutingTable, RoutingTables

WORKERS = 4
BUCKETS = PlannedGrouping().bucket_count(WORKERS)


def plans_of(place, keys=("user",)):
    """Return plans as a driver without running queries has them."""
    session: Any = SimpleNamespace(_jsparkSession=None, conf=SimpleNamespace(getAll={}))
    weigh: Any = None
    return GroupPlans(session, keys, PlannedGrouping(), WORKERS, place, weigh)


def loads(hot, rows=900.0):
    """Return statistics of ten keys, of which `hot` has many rows."""
    keys = np.arange(1, 11, dtype=np.uint64)
    statistics = PlannedGrouping().statistics(WORKERS)
    statistics.add_counted(keys, np.where(keys == hot, rows, 10.0))
    return statistics


@pytest.mark.parametrize("way", ["whole", "planned"])
@pytest.mark.parametrize(("buckets", "workers"), [(BUCKETS // 2, WORKERS), (BUCKETS, WORKERS - 1)])
def test_a_stored_plan_of_another_size_is_refused(tmp_path, way, buckets, workers):
    plans = plans_of(tmp_path)
    plans.tables(way).write(0, RoutingTable(unplanned(buckets, workers).to_arrays()))
    with pytest.raises(RunError, match="numbers out of range"):
        plans.finds(way)
    with pytest.raises(RunError, match="numbers out of range"):
        plans._learn(way, loads(3), 0.0)


@pytest.mark.parametrize("way", ["whole", "planned"])
def test_the_plan_of_the_next_run_follows_from_what_a_run_counted(tmp_path, way):
    for hot in (3, 7):
        plans_of(tmp_path)._learn(way, loads(hot), 0.01)
        next_run = plans_of(tmp_path)
        assert next_run.finds(way)
        plan = next_run.of(way)
        assert plan.place == str(tmp_path)
        assert plan.about is not None
        assert (plan.about.learns, plan.about.error) == (True, 0.01)
        assert plan.about.share == 900 / 990
        ours = {"whole": 900, "planned": 990 / WORKERS}[way]
        assert plan.memory["loads"].max() == pytest.approx(ours, rel=0.01)
    with pytest.raises(ConfigurationError, match="holds a plan for the key user, not for item"):
        plans_of(tmp_path, ("item",)).finds(way)


def test_a_run_without_rows_changes_nothing(tmp_path):
    plans_of(tmp_path)._learn("whole", PlannedGrouping().statistics(WORKERS), 0.0)
    assert not plans_of(tmp_path).finds("whole")


def test_a_plan_that_a_user_has_stored_since_stays(tmp_path):
    tables = RoutingTables(tmp_path, "planned", WORKERS)
    kept = plans_of(tmp_path)
    kept.tables("whole").write(0, RoutingTable(kept.by_hash()))  # it says that it does not learn
    tables.write(0, RoutingTable(unplanned(BUCKETS, WORKERS).to_arrays()))  # it says nothing
    before = {each: each.read_bytes() for each in tmp_path.rglob("*.npz")}
    kept._learn("whole", loads(3), 0.0)
    kept._learn("planned", loads(3), 0.0)
    assert {each: each.read_bytes() for each in tmp_path.rglob("*.npz")} == before


def test_a_plan_is_logged_once_for_rows_that_follow_it(tmp_path, caplog):
    caplog.set_level("INFO", "evenkey")
    plans_of(tmp_path)._learn("whole", loads(3), 0.01)
    plans = plans_of(tmp_path)
    plans.of("whole")
    assert caplog.messages == []
    for _ in range(2):
        plans.followed("whole")
    (line,) = caplog.messages
    assert line.startswith("groupBy(user): whole keys on 4 workers; max/mean load 3.6")
    assert line.endswith("; previous plan")
