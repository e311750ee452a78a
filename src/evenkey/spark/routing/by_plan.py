"""Planned grouping on Spark: rows are routed by plans, in Spark's own expressions."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError
from evenkey.spark.plans.counted_keys import learn_from, weighed
from evenkey.spark.plans.deciding import Learning
from evenkey.spark.plans.held import HeldPlans, watch_position
from evenkey.spark.plans.lookup import Followed, with_planned_worker
from evenkey.spark.plans.places import tables_of
from evenkey.spark.plans.store_at import store_of
from evenkey.spark.plans.tables import RoutingTable, RoutingTables
from evenkey.spark.sessions.access import at_state

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import Column, DataFrame

    from evenkey.core.stores import Store
    from evenkey.groupings import PlannedGrouping, Snapshot
    from evenkey.spark.plans.deciding import Tables


def fitted(
    df: DataFrame,
    hashed: Column,
    cost: Column | None,
    grouping: PlannedGrouping,
    workers: int,
    store: RoutingTables,
) -> Snapshot:
    """Count a batch, plan from that, and keep the plan for those that follow it."""
    session = df.sparkSession
    before = at_state(session, store.latest)
    memory = counted(df, hashed, cost, grouping, workers, before)
    # Number 0 is what every epoch finds that has no table of its own.
    at_state(session, functools.partial(store.write, 0, RoutingTable(memory)))
    return memory


def counted(
    df: DataFrame,
    hashed: Column,
    cost: Column | None,
    grouping: PlannedGrouping,
    workers: int,
    before: Snapshot,
) -> Snapshot:
    """Count a batch and plan from that, near to the plan before it."""
    statistics = weighed(df, hashed, cost, grouping.statistics(workers))
    return grouping.fitted(statistics, workers, before, of_messages=cost is None)


def route_planned(
    df: DataFrame,
    hashed: Column,
    grouping: PlannedGrouping,
    workers: int,
    *,
    plan: Snapshot | None,
    state: str | Path | Store | None,
    column: str,
    position: Column | None = None,
    contents: Sequence[str] | None = None,
    learn: bool | Learning = True,
    real_time: bool = False,
) -> DataFrame:
    """Route by plans, without Python in the way of a message.

    A batch follows the `plan`. A stream follows the plans in `state` and, if it is to `learn`,
    makes them: of samples, or as what it is given says. In real time they change only when no row
    may come again (`HeldPlans`). Of the rows only the columns `contents` are used; None: all.
    """
    if df.isStreaming and learn and grouping.counts_ahead:
        message = (
            f"{grouping}: Spark routes an epoch of a stream while it reads it; route in "
            "foreachBatch, where it is counted first, or choose another planning"
        )
        raise ConfigurationError(message)

    def by(rows: DataFrame, plans: Tables | Snapshot) -> DataFrame:
        return with_planned_worker(
            rows, hashed, grouping, workers, plans, column, position, contents=contents
        )

    if df.isStreaming:
        if isinstance(learn, Learning):
            return by(df, learn)
        followed = _followed_by_stream(df, grouping, workers, plan, state)
        if learn and grouping.learns_epochs:
            df = learn_from(df, hashed, grouping, workers, followed.tables)
        if real_time:
            return by(watch_position(df, followed.tables), HeldPlans(followed))
        return by(df, followed)
    return by(df, plan or {})


def _followed_by_stream(
    df: DataFrame,
    grouping: PlannedGrouping,
    workers: int,
    plan: Snapshot | None,
    state: str | Path | Store | None,
) -> Followed:
    session = df.sparkSession
    tables, mark = tables_of(session, state, str(grouping), workers)
    if state is None:
        # Nothing is written before a query runs: it may never.
        return Followed(tables, mark, plan or {})
    if plan is not None:
        at_state(session, functools.partial(tables.write, 0, RoutingTable(plan)))
    return Followed(tables, mark)


def plan_of_batch(
    df: DataFrame,
    hashed: Column,
    grouping: PlannedGrouping,
    workers: int,
    plan: Snapshot | None,
    state: str | Path | Store | None,
) -> tuple[Snapshot, bool]:
    """Give the plan that a batch follows, and whether it is followed as it is.

    The batch is counted, here and now, unless a plan is there that the grouping may follow. A plan
    of its own rows is followed as it is, and so is one by costs.
    """
    if state is None:
        before = plan or {}
        if not _counts_batch(grouping, before):
            return before, "counted" in before
        return counted(df, hashed, None, grouping, workers, before), True
    session = df.sparkSession
    store = RoutingTables(store_of(session, state), str(grouping), workers)
    if plan is not None:
        at_state(session, functools.partial(store.write, 0, RoutingTable(plan)))
    if _counts_batch(grouping, at_state(session, store.latest)):
        return fitted(df, hashed, None, grouping, workers, store), True
    followed = at_state(session, functools.partial(store.read, 0)).memory
    return followed, "counted" in followed


def _counts_batch(grouping: PlannedGrouping, before: Snapshot) -> bool:
    """Whether a batch is counted: a plan that is there is followed, whatever it was made of."""
    return grouping.counts_ahead if before else grouping.counts_first({})
