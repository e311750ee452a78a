"""Pinned plans are stored twice, and a query with state never gets another plan."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import numpy as np
import pytest

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.stores import SharedMark
from evenkey.spark.groups.pinned import PinnedPlan, _pin, digest_of
from evenkey.spark.plans.tables import RoutingTable, RoutingTables
from evenkey.spark.sessions.task_id import TaskId

WHY = "it is so"


def plan(number):
    return {"loads": np.arange(number, number + 3, dtype=np.float64)}


@pytest.fixture
def tables(tmp_path):
    made = RoutingTables(tmp_path / "state", "whole", 3)
    made.write(0, RoutingTable(plan(1)))
    return made


def started(tables, query="query", epoch=0):
    """Start a query as an operator does, and run it up to an epoch."""
    memory = _pin(tables, WHY, plan(7))
    tables.store.put("_shared_storage_check/one", b"")
    pinned = PinnedPlan(
        memory=memory,
        tables=tables,
        mark=SharedMark(tables.store, "_shared_storage_check/one", "here"),
    )
    pinned.decide(TaskId(query, epoch, 0))
    return memory


def flip_a_bit(path):
    content = bytearray(Path(path).read_bytes())
    content[len(content) // 2] ^= 0x10
    Path(path).write_bytes(content)


def of_the_plan(tables):
    pinned = tables.under("pinned")
    return pinned.path(0), pinned.under("copy").path(0)


def test_without_a_plan_the_given_one_is_pinned(tmp_path):
    empty = RoutingTables(tmp_path / "empty", "whole", 3)
    for number in (7, 8):
        assert digest_of(_pin(empty, WHY, plan(number))) == digest_of(plan(7))
        empty.write(0, RoutingTable(plan(2)))  # a plan that comes later is ignored


def test_a_query_goes_on_by_its_plan_whatever_is_fitted_later(tables):
    started(tables)
    tables.write(0, RoutingTable(plan(2)))
    for epoch in (0, 1, 1, 7):
        assert digest_of(started(tables, epoch=epoch)) == digest_of(plan(1))
    assert digest_of(started(tables, "another")) == digest_of(plan(1))


def test_a_check_is_made_in_each_attempt_of_the_first_epoch_only(tables):
    started(tables)
    calls = []
    mark = SharedMark(tables.store, "_shared_storage_check/one", "here")
    pinned = PinnedPlan(memory=plan(1), tables=tables, mark=mark, first=lambda: calls.append(1))
    for epoch in (0, 0, 1, 7):
        pinned.decide(TaskId("query", epoch, 0))
    assert len(calls) == 2


@pytest.mark.parametrize("fault", [flip_a_bit, lambda path: Path(path).unlink()])
@pytest.mark.parametrize("which", [0, 1])
def test_one_of_two_copies_is_enough(tables, fault, which, caplog):
    started(tables)
    tables.write(0, RoutingTable(plan(2)))
    fault(of_the_plan(tables)[which])
    with caplog.at_level(logging.WARNING):
        assert digest_of(started(tables, epoch=3)) == digest_of(plan(1))
    assert ("its copy replaces it" in caplog.text) == (which == 0)
    # Both copies exist again.
    fault(of_the_plan(tables)[1 - which])
    assert digest_of(started(tables, epoch=4)) == digest_of(plan(1))


@pytest.mark.parametrize(
    ("fault", "says"), [(flip_a_bit, "is corrupt ("), (lambda path: Path(path).unlink(), "is lost")]
)
def test_a_plan_that_is_lost_twice_is_never_replaced_by_a_newer_one(tables, fault, says):
    started(tables)
    tables.write(0, RoutingTable(plan(2)))
    for path in of_the_plan(tables):
        fault(path)
    with pytest.raises(RunError) as refused:
        started(tables, epoch=1)
    message = str(refused.value)
    assert says in message
    for way in ("restore ", "as it was when the query began", "or start with a new checkpoint"):
        assert way in message
    assert "balance is learned again" not in message
    assert "\n" not in message


def test_a_plan_fitted_anew_in_an_empty_state_is_refused(tables):
    started(tables)
    shutil.rmtree(tables.store.url)
    tables.write(0, RoutingTable(plan(1)))  # the same plan, which the query cannot know
    with pytest.raises(ConfigurationError, match="holds no plan of this query") as refused:
        started(tables, epoch=1)
    assert "restore " in str(refused.value)
    assert "start with a new checkpoint" in str(refused.value)
    # The rejected start wrote nothing with which the next start would succeed.
    with pytest.raises(ConfigurationError, match="holds no plan of this query"):
        started(tables, epoch=1)
    assert digest_of(started(tables, "with a new checkpoint")) == digest_of(plan(1))


def test_another_place_on_the_same_checkpoint_is_refused(tables, tmp_path):
    started(tables)
    other = RoutingTables(tmp_path / "other", "whole", 3)
    other.write(0, RoutingTable(plan(2)))
    with pytest.raises(ConfigurationError, match=r"state .*/other holds no plan of this query"):
        started(other, epoch=1)


def test_another_plan_in_the_same_place_is_refused(tables):
    started(tables)
    for path in of_the_plan(tables):
        Path(path).unlink()
    tables.under("pinned").put(0, RoutingTable(plan(2)))
    for epoch in (0, 1):
        with pytest.raises(ConfigurationError, match="holds another plan than the one that placed"):
            started(tables, epoch=epoch)


@pytest.mark.parametrize("which", [0, 1])
def test_another_plan_does_not_replace_the_plan_of_a_query(tables, which, caplog):
    started(tables)
    place = (tables.under("pinned"), tables.under("pinned").under("copy"))[which]
    place.put(0, RoutingTable(plan(2)))
    with caplog.at_level(logging.WARNING):
        assert digest_of(started(tables, epoch=3)) == digest_of(plan(1))
    said = "was not the one that queries began with: its copy replaces it" in caplog.text
    assert said == (which == 0)
    assert digest_of(place.read(0).memory) == digest_of(plan(1))


def test_other_plans_in_both_places_are_refused_and_kept(tables):
    started(tables)
    pinned = tables.under("pinned")
    for place, number in ((pinned, 2), (pinned.under("copy"), 3)):
        place.put(0, RoutingTable(plan(number)))
    with pytest.raises(RunError, match="not the one that queries began with") as refused:
        started(tables, epoch=1)
    assert "restore " in str(refused.value)
    assert digest_of(pinned.read(0).memory) == digest_of(plan(2))


def test_a_state_that_moves_as_a_whole_is_accepted(tables, tmp_path):
    started(tables)
    shutil.move(tables.store.url, tmp_path / "elsewhere")
    moved = RoutingTables(tmp_path / "elsewhere", "whole", 3)
    assert digest_of(started(moved, epoch=5)) == digest_of(plan(1))


def test_a_record_that_cannot_be_read_is_named(tables):
    started(tables)
    record = Path(tables.store.path("pinned/queries/query.json"))
    record.write_bytes(b"{")
    with pytest.raises(RunError, match=r"queries/query\.json, which records the plan"):
        started(tables, epoch=1)
