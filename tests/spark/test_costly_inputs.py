"""Inputs that are costly to compute are named, if counting them took long."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from pyspark import StorageLevel

from evenkey.spark.plans import costly_inputs
from evenkey.spark.plans.costly_inputs import read_once, warn_of_costly

PLAN = """== Physical Plan ==
AdaptiveSparkPlan isFinalPlan=false
+- Project [k#1L]
   +- *(2) {above}
      +- InMemoryTableScan [k#1L]
            +- InMemoryRelation [k#1L], StorageLevel(disk)
                  +- *(1) HashAggregate(keys=[k#1L], functions=[])
                     +- Exchange hashpartitioning(k#1L, 4), ENSURE_REQUIREMENTS, [plan_id=9]
"""


@pytest.mark.parametrize(
    ("operator", "what"),
    [
        ("ArrowEvalPython [f(k#1L)#3L], [pythonUDF0#4L], 200", "a Python function"),
        ("MapInArrow f(k#1L)#3, [k#1L]", "a Python function"),
        ("FlatMapGroupsInPandas [k#1L], f(k#1L)#3, [k#5L]", "a Python function"),
        ("SortMergeJoin [k#1L], [k#2L], Inner", "a join"),
        ("ObjectHashAggregate(keys=[k#1L], functions=[])", "an aggregate"),
        ("Window [row_number()], [k#1L]", "a window"),
        ("Generate explode(v#2), [k#1L], false, [k#3L]", "a generator"),
        ("Sort [k#1L ASC NULLS FIRST], true, 0", "a shuffle or a sort"),
        # A side that is broadcast is small, and a cache is read, not computed.
        ("BroadcastHashJoin [k#1L], [k#2L], Inner, BuildRight", None),
        ("Filter isnotnull(k#1L)", None),
    ],
)
def test_operators_are_recognised_above_a_cache(monkeypatch, operator, what):
    plan = PLAN.format(above=operator)
    monkeypatch.setattr(costly_inputs, "printed_plan", lambda _: plan)
    nothing: Any = None
    assert costly_inputs.costly_part(nothing) == what


BESIDE = """== Physical Plan ==
Union
:- InMemoryTableScan [k#1L]
:     +- InMemoryRelation [k#1L], StorageLevel(disk)
:           +- MapInArrow f(k#1L)#3, [k#1L]
+- *(2) HashAggregate(keys=[k#2L], functions=[])
   +- *(2) Range (0, 9, step=1, splits=4)
"""


def test_operators_beside_a_cache_are_recognised(monkeypatch):
    monkeypatch.setattr(costly_inputs, "printed_plan", lambda _: BESIDE)
    nothing: Any = None
    assert costly_inputs.costly_part(nothing) == "an aggregate"


@pytest.mark.parametrize(("seconds", "lines"), [(4.9, 0), (7.2, 1)])
def test_a_warning_names_what_counting_computed(monkeypatch, caplog, seconds, lines):
    monkeypatch.setattr(costly_inputs, "costly_part", lambda each: each)
    logger = logging.getLogger("evenkey.costly")
    parts: list[Any] = [None, "a join"]
    warn_of_costly(logger, "groupBy(k)", parts, seconds, "persist it first")
    expected = (
        "groupBy(k): counting took 7 s, because it computed a join of the input, which the result "
        "computes again; persist it first"
    )
    assert caplog.messages == [expected] * lines


class Result:
    """A DataFrame of a session that stops while it is cached."""

    storage: StorageLevel | None = None

    def persist(self, storage=StorageLevel.MEMORY_AND_DISK_DESER):
        self.storage = storage
        return self

    def unpersist(self):
        message = "the session was stopped"
        raise ConnectionRefusedError(message)


def test_a_result_is_cached_on_disk_and_errors_of_the_query_come_through(monkeypatch):
    monkeypatch.setattr(costly_inputs, "printed_plan", lambda _: BESIDE)
    result: Any = Result()

    def query(rows):
        assert rows.storage == StorageLevel.DISK_ONLY
        message = "the query failed"
        raise ValueError(message)

    with pytest.raises(ValueError, match="the query failed"), read_once(result, result) as cached:
        query(cached)


@pytest.mark.slow(3)
def test_a_cached_table_is_a_cache(session):
    session.range(90).selectExpr("id % 7 as k").distinct().createOrReplaceTempView("evenkey_keys")
    rows = session.table("evenkey_keys")
    assert costly_inputs.costly_part(rows) == "an aggregate"
    with read_once(rows, rows) as same:
        assert same is rows
        assert same.storageLevel == StorageLevel.NONE
    session.catalog.cacheTable("evenkey_keys")
    try:
        above = session.table("evenkey_keys").where("k > 3")
        assert costly_inputs.costly_part(above) is None
        assert costly_inputs.costly_part(above.groupBy().count()) == "an aggregate"
        both = above.select("k").unionAll(above.select("k"))
        assert costly_inputs.costly_part(both) is None
        with read_once(above, both) as cached:
            assert cached.storageLevel == StorageLevel.DISK_ONLY
        assert above.storageLevel == StorageLevel.NONE
    finally:
        session.catalog.uncacheTable("evenkey_keys")
        session.catalog.dropTempView("evenkey_keys")
