"""Rows of unexpected hot keys: a repeated task routes them as before; native plans stay native."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from evenkey import spark as operators
from evenkey.core.streams import generated
from evenkey.groupings import PlannedGrouping, parse
from evenkey.spark import RoutingTable, RoutingTables
from evenkey.spark.routing import routes_natively, routing_task
from evenkey.spark.routing.add_worker import routed as routed_by
from evenkey.spark.sessions.task_id import TaskId
from tests.spark import oracle

GROUPING, WORKERS = PlannedGrouping(planning="previous"), 10
WITHOUT = parse("planned(planning=previous,surprise=none)")


@pytest.fixture
def epochs():
    """Make the hashes of two epochs without a common key."""
    random = np.random.default_rng(4)
    first = random.zipf(1.4, 30_000).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return first, ~first


@pytest.mark.classic("a task's number is given by the test")
@pytest.mark.parametrize("source", [0, 3])
def test_a_task_that_runs_again_sends_every_row_where_it_went(
    spark, tmp_path, monkeypatch, epochs, source
):
    """The task may have failed anywhere, and its process may have routed other rows since."""
    before, rows = epochs
    distinct, counts = np.unique(before, return_counts=True)
    statistics = GROUPING.statistics(WORKERS)
    statistics.add_counted(distinct, counts.astype(np.float64))
    memory = GROUPING.learned({}, statistics, WORKERS)
    RoutingTables(tmp_path, str(GROUPING), WORKERS).write(1, RoutingTable(memory))
    monkeypatch.setattr(
        "evenkey.spark.routing.tasks.current_epoch", lambda: TaskId("query", 1, source)
    )
    task = routing_task(spark, GROUPING, WORKERS, state=tmp_path, streaming=True, learn=False)

    def routed(*batches):
        with task.source() as router:
            return np.concatenate([router.route(batch).to_numpy() for batch in batches])

    whole = routed(rows)
    routed(rows[:10_000])
    np.testing.assert_array_equal(routed(*np.array_split(rows, 7)), whole)
    # By the plan alone, rows would go to other workers, and loads would be unbalanced.
    plain = WITHOUT.router(WORKERS, source)
    plain.remember(memory)
    assert (plain.route(rows) != whole).mean() > 0.1
    loads = np.bincount(whole, minlength=WORKERS)
    assert loads.max() / loads.mean() < 1.1


def test_where_rows_go_through_python():
    """Only spreading needs Python; a plain `route` by a plan is native."""
    for grouping, streaming in product((GROUPING, parse("planned")), (True, False)):
        assert routes_natively(grouping, streaming=streaming)
        assert not routes_natively(grouping, streaming=streaming, spread=True)
    for spelling in ("planned(planning=current)", "planned(planning=fit)", str(WITHOUT)):
        assert routes_natively(parse(spelling), streaming=True, spread=True)


def test_a_plain_route_has_no_python_in_its_way(session, tmp_path):
    df = oracle.streaming(session, generated("country-skew-r80", messages=100), tmp_path)
    df = operators.route(df, "key", GROUPING, WORKERS)
    assert "route_keys" not in oracle.plan_of(df, "extended")


@pytest.mark.slow(6)
def test_a_batch_is_spread_unless_it_was_counted(session, tmp_path):
    """Its hot key is unexpected under a plan of other rows, but not under its own plan."""
    df = oracle.skewed(session, 4000, 2)
    others = df.selectExpr("concat('other ', key) as key")
    state = tmp_path / "state"
    operators.fit(others, "key", GROUPING, WORKERS, state=state)
    expected = {(row["key"], row["count"]) for row in df.groupBy("key").count().collect()}
    for given in ({"state": state}, {}, {"grouping": "planned"}):
        options = {"grouping": GROUPING, "workers": WORKERS, **given}
        counts = operators.aggregate(df, "key", **options)
        assert {(row["key"], row["count"]) for row in counts.collect()} == expected
        spread = "grouping" not in given
        assert ("ArrowEvalPython" in oracle.plan_of(counts)) is spread
        routed = routed_by(df, "key", **options, spread=True)
        loads = [row["count"] for row in routed.groupBy("worker").count().collect()]
        assert max(loads) * WORKERS / sum(loads) < 1.3


def test_a_stream_goes_on_from_a_plan_that_was_fitted(session, tmp_path):
    """A plan from rows has the expected share of each key, a plan from costs has not."""
    df = oracle.skewed(session, 4000, 2)
    operators.fit(df, "key", GROUPING, WORKERS, state=tmp_path / "rows")
    memory = RoutingTables(tmp_path / "rows", str(GROUPING), WORKERS).read(0).memory
    assert memory["expected_shares"].max() == pytest.approx(0.4)
    assert "counted" not in memory
    df = df.selectExpr("key", "id % 7 as cost")
    operators.fit(df, "key", GROUPING, WORKERS, state=tmp_path / "costs", cost="cost")
    memory = RoutingTables(tmp_path / "costs", str(GROUPING), WORKERS).read(0).memory
    assert "expected_shares" not in memory
    assert "counted" in memory
