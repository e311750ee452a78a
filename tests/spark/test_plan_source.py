"""The four kinds of plan sources: when their plan changes, and which plan retries get."""

from __future__ import annotations

import json
import logging
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evenkey.core.stores import SharedMark
from evenkey.spark.plans import plan_source, stream_plans
from evenkey.spark.plans.plan_source import Fixed, Held, Latest, PerEpoch
from evenkey.spark.plans.tables import RoutingTable, RoutingTables
from evenkey.spark.sessions.task_id import TaskId


@pytest.fixture
def tables(tmp_path):
    made = RoutingTables(tmp_path, "planned", 2)
    made.store.put("_shared_storage_check/one", b"")
    return made


def table(number):
    return RoutingTable({"plan": np.array(number)})


@pytest.mark.parametrize(
    ("case", "retried", "next_epoch", "restarted"),
    [(Fixed, 1, 1, 1), (Latest, 2, 2, 3), (PerEpoch, 1, 2, 3), (Held, 1, 2, 2)],
)
def test_each_case_changes_when_its_table_says(
    tables, monkeypatch, case, retried, next_epoch, restarted
):
    mark = SharedMark(tables.store, "_shared_storage_check/one", "here")
    source = Fixed(table(1).memory) if case is Fixed else case(tables, mark)

    def planned(number):
        tables.of_query("query").put(0, table(number))

    def decided(run, epoch):
        monkeypatch.setattr(plan_source, "current_run", lambda: run)
        found = int(source.decide(TaskId("query", epoch, 0)).memory["plan"])
        assert int(source.recall(TaskId("query", epoch, 7)).memory["plan"]) == found
        return found

    planned(1)
    assert decided("first", 0) == 1
    planned(2)
    assert decided("first", 0) == retried
    assert decided("first", 1) == next_epoch
    planned(3)
    assert decided("second", 2) == restarted


def test_what_the_driver_cannot_write_is_logged(tables, caplog):
    def full(*_):
        raise OSError(28, "No space left on device")

    name = "kind-" + json.dumps([tables.store.url, "planned", 2, "unique"])
    with caplog.at_level(logging.WARNING):
        session: Any = SimpleNamespace()
        stream_plans._receive("kind-", full, session, name, {}, SimpleNamespace())
    (line,) = caplog.messages
    assert line.endswith("No space left on device; the previous plan stays in use")
