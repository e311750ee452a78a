"""Plans of real-time streams, epoch by epoch, through restarts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.spark.plans import held as held_plans
from evenkey.spark.plans.held import HeldPlans, reached
from evenkey.spark.plans.tables import RoutingTable, RoutingTables
from evenkey.spark.sessions.task_id import TaskId


@dataclass
class Newest:
    """Somebody who makes plans; each is a number."""

    tables: RoutingTables
    plan: int = field(default=0)

    def decide(self, task: TaskId) -> RoutingTable:
        """Give the newest."""
        del task
        return RoutingTable({"plan": np.array(self.plan)})


@pytest.fixture
def newest(tmp_path):
    return Newest(RoutingTables(tmp_path, "planned", 2))


@pytest.fixture
def followed(newest, monkeypatch):
    """Give the plan of an epoch in a run, when there is a newest one."""
    held: Any = HeldPlans(newest)

    def follow(run, epoch, plan):
        newest.plan = plan
        monkeypatch.setattr(held_plans, "current_run", lambda: run)
        found = int(held.decide(TaskId("query", epoch, 0)).memory["plan"])
        assert int(held.recall(TaskId("query", epoch, 3)).memory["plan"]) == found
        return found

    return follow


def read_past(newest, run, end, latest):
    """Report an epoch's progress to the driver."""
    source = SimpleNamespace(endOffset=end, latestOffset=latest)
    progress = SimpleNamespace(id="query", runId=run, sources=[source])
    where = json.dumps([newest.tables.store.url, "planned", 2, ""])
    session: Any = SimpleNamespace(_jsparkSession=None, conf=SimpleNamespace(getAll={}))
    held_plans._receive(session, f"{held_plans._METRIC}{where}", None, progress)


@pytest.mark.slow(4)
def test_a_first_run_follows_the_newest_plan(followed):
    assert [followed("a", epoch, plan) for epoch, plan in ((0, 1), (1, 1), (2, 5))] == [1, 1, 5]


@pytest.mark.slow(4)
def test_an_epoch_that_runs_again_has_the_plan_it_had(followed):
    assert (followed("a", 0, 1), followed("a", 1, 2)) == (1, 2)
    assert followed("b", 1, 3) == 2


@pytest.mark.slow(4)
def test_after_a_restart_plans_stay_until_all_was_read(followed, newest):
    assert (followed("a", 0, 1), followed("a", 1, 2)) == (1, 2)
    assert [followed("b", epoch, 3) for epoch in (1, 2)] == [2, 2]
    read_past(newest, "b", '{"clicks": {"0": 6}}', '{"clicks": {"0": 9}}')
    assert followed("b", 3, 3) == 2
    # What has come since does not count: no earlier run has seen it.
    read_past(newest, "b", '{"clicks": {"0": 9}}', '{"clicks": {"0": 30}}')
    assert followed("b", 4, 3) == 3
    assert followed("c", 5, 4) == 3, "a run after that holds, too"


@pytest.mark.slow(4)
def test_a_run_that_nobody_names_holds_its_plan(followed):
    assert [followed("", epoch, plan) for epoch, plan in ((0, 1), (1, 2))] == [1, 1]


@pytest.mark.slow(4)
def test_a_source_that_does_not_say_how_far_it_reaches_holds_plans(followed, newest):
    assert (followed("a", 0, 1), followed("d", 1, 2)) == (1, 1)
    read_past(newest, "d", '{"clicks": {"0": 6}}', None)
    assert followed("d", 2, 2) == 1


@pytest.mark.slow(4)
def test_a_position_is_reached_when_all_parts_of_it_are():
    bound = '{"clicks": {"0": 17, "1": 5}}'
    assert reached('{"clicks": {"0": 17, "1": 6}, "more": {"0": 0}}', bound)
    for short in ('{"clicks": {"0": 17, "1": 4}}', '{"clicks": {"0": 18}}', "{}", None, "nonsense"):
        assert not reached(short, bound), short
    assert not reached(bound, None)


@pytest.mark.slow(4)
def test_other_workers_are_refused_where_rows_may_come_again(followed, newest):
    followed("a", 0, 1)
    newest.tables = RoutingTables(newest.tables.store, "planned", 3)
    with pytest.raises(ConfigurationError, match="must go to the workers that had them") as refused:
        followed("b", 1, 1)
    assert "this query began with 'planned' and 2" in str(refused.value)
