"""Plans of real-time streams, epoch by epoch, through restarts."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.stores import SharedMark
from evenkey.spark.plans import plan_source, stream_plans
from evenkey.spark.plans.plan_source import Held
from evenkey.spark.plans.stream_plans import reached
from evenkey.spark.plans.tables import RoutingTable, RoutingTables
from evenkey.spark.sessions.task_id import TaskId


@pytest.fixture
def tables(tmp_path):
    return RoutingTables(tmp_path, "planned", 2)


@pytest.fixture
def followed(tables, monkeypatch):
    """Return a function that returns the plan of an epoch, given the newest; plans are numbers."""
    tables.store.put("_shared_storage_check/one", b"")

    def follow(run, epoch, plan, workers=2):
        # The newest plan exists also when an epoch runs again.
        tables.of_query("query").put(0, RoutingTable({"plan": np.array(plan)}))
        monkeypatch.setattr(plan_source, "current_run", lambda: run)
        mark = SharedMark(tables.store, "_shared_storage_check/one", "here")
        held = Held(RoutingTables(tables.store, "planned", workers), mark)
        found = int(held.decide(TaskId("query", epoch, 0)).memory["plan"])
        assert int(held.recall(TaskId("query", epoch, 3)).memory["plan"]) == found
        return found

    return follow


def read_past(tables, run, end, latest):
    """Report the progress of an epoch to the driver."""
    source = SimpleNamespace(endOffset=end, latestOffset=latest)
    progress = SimpleNamespace(id="query", runId=run, sources=[source])
    where = json.dumps([tables.store.url, "planned", 2, ""])
    session: Any = SimpleNamespace(_jsparkSession=None, conf=SimpleNamespace(getAll={}))
    kind, write = stream_plans._POSITION, stream_plans._write_read_past
    stream_plans._receive(kind, write, session, f"{kind}{where}", None, progress)


def test_a_first_run_follows_the_newest_plan(followed):
    assert [followed("a", epoch, plan) for epoch, plan in ((0, 1), (1, 1), (2, 5))] == [1, 1, 5]


def test_an_epoch_that_runs_again_has_the_plan_it_had(followed):
    assert (followed("a", 0, 1), followed("a", 1, 2)) == (1, 2)
    assert followed("b", 1, 3) == 2


def test_after_a_restart_plans_stay_until_all_was_read(followed, tables):
    assert (followed("a", 0, 1), followed("a", 1, 2)) == (1, 2)
    assert [followed("b", epoch, 3) for epoch in (1, 2)] == [2, 2]
    read_past(tables, "b", '{"clicks": {"0": 6}}', '{"clicks": {"0": 9}}')
    assert followed("b", 3, 3) == 2
    # Records that came later do not matter, because no earlier run has read them.
    read_past(tables, "b", '{"clicks": {"0": 9}}', '{"clicks": {"0": 30}}')
    assert followed("b", 4, 3) == 3
    assert followed("c", 5, 4) == 3, "a run after that holds, too"


def test_a_corrupt_plan_that_rows_must_follow_is_named(followed, tables):
    assert followed("a", 0, 1) == 1
    held = plan_source.held_of(tables, "query")
    held.store.put(held.name(0), b"cut short")
    with pytest.raises(RunError, match=r"is corrupt .* restore it, or start") as refused:
        followed("b", 1, 2)
    assert "delete it" not in str(refused.value)


def test_a_run_that_nobody_names_holds_its_plan(followed):
    assert [followed("", epoch, plan) for epoch, plan in ((0, 1), (1, 2))] == [1, 1]


def test_a_source_that_does_not_say_how_far_it_reaches_holds_plans(followed, tables):
    assert (followed("a", 0, 1), followed("d", 1, 2)) == (1, 1)
    read_past(tables, "d", '{"clicks": {"0": 6}}', None)
    assert followed("d", 2, 2) == 1


def test_a_position_is_reached_when_all_parts_of_it_are():
    bound = '{"clicks": {"0": 17, "1": 5}}'
    assert reached('{"clicks": {"0": 17, "1": 6}, "more": {"0": 0}}', bound)
    for short in ('{"clicks": {"0": 17, "1": 4}}', '{"clicks": {"0": 18}}', "{}", None, "nonsense"):
        assert not reached(short, bound), short
    assert not reached(bound, None)


def test_other_workers_are_refused_where_rows_may_come_again(followed):
    followed("a", 0, 1)
    with pytest.raises(ConfigurationError, match="must go to the workers that had them") as refused:
        followed("b", 1, 1, workers=3)
    assert "this query started with grouping 'planned' and 2 workers" in str(refused.value)
