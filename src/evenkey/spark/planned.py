"""Planned grouping on Spark: fit a plan to data, and route by plans natively."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from evenkey.core.checking import number
from evenkey.core.errors import ConfigurationError
from evenkey.groupings import Plan, PlannedGrouping, parse
from evenkey.spark.columns import check_frame, key_columns, key_hash, number_column
from evenkey.spark.deciding import Learning
from evenkey.spark.grouped.rows import Rows
from evenkey.spark.held_plans import HeldPlans, watch_position
from evenkey.spark.places import check_state, tables_of
from evenkey.spark.plan_lookup import Followed, with_planned_worker
from evenkey.spark.plan_statistics import learn_from, weighed
from evenkey.spark.routing_table import RoutingTable, RoutingTables
from evenkey.spark.state import store_of
from evenkey.spark.state_access import at_state
from evenkey.spark.worker_counts import OfWorkers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession

    from evenkey.core.stores import Store
    from evenkey.groupings import Grouping, Snapshot
    from evenkey.spark.deciding import Tables


def fit(
    df: DataFrame,
    key: str | Sequence[str],
    grouping: str | Grouping,
    workers: int,
    *,
    state: str | Path | Store,
    cost: str | None = None,
    fraction: float = 1.0,
) -> Plan:
    """Count the keys of a batch DataFrame and plan from them, for `route` or `groupBy` to follow.

    Parameters
    ----------
    df
        Batch; all of the data, a sample, or earlier data like it.
    key
        Key column, or columns that form the key together.
    grouping, workers
        ``"planned"``, with the parameters and worker count that `route` will be given; or
        ``"whole"``, by which no key is split, for `groupBy` and keys with state.
    state
        Place of the plan, the same as for `route`. A plan that it holds is the one to stay near to.
    cost
        Column of what each row costs, such as seconds that were measured; None: each row
        costs the same.
    fraction
        Rows drawn at random that are counted, above 0, at most 1.

    Returns
    -------
    Plan
        Its `loads` and `extra_pairs` predict balance and replication.

    Raises
    ------
    ConfigurationError
        A column is missing, the grouping is none that plans, the DataFrame is a stream, a cost
        is negative, or the fraction is out of range.

    Examples
    --------
    >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
    >>> import tempfile
    >>> plan = fit(clicks, "user", "planned", 4, state=tempfile.mkdtemp())
    >>> [round(load) for load in plan.loads]
    [25, 25, 25, 25]
    """
    check_frame(df)
    whole = grouping == "whole"
    planned = PlannedGrouping() if whole else _planned(grouping)
    planned.router(workers)
    check_state(state, needed=True)
    number("fraction", fraction)
    if df.isStreaming:
        message = "fit counts a batch: pass earlier data or a sample, or call it in foreachBatch"
        raise ConfigurationError(message)
    if not 0 < fraction <= 1:
        message = f"fraction = {fraction}: must be above 0 and at most 1"
        raise ConfigurationError(message)
    hashed = key_hash(df, key)
    costs = None if cost is None else number_column(df, cost, "cost")
    if fraction < 1:
        df = df.sample(fraction=fraction, seed=0)
    if whole:
        rows = Rows(df, key_columns(df, key), workers, "whole", state, costs)
        return Plan.from_arrays(rows.plans.make("whole").memory)
    store = RoutingTables(store_of(df.sparkSession, state), str(planned), workers)
    return Plan.from_arrays(_fit(df, hashed, costs, planned, workers, store))


def _planned(grouping: str | Grouping) -> PlannedGrouping:
    planned = parse(grouping)
    if not isinstance(planned, PlannedGrouping):
        message = (
            f"{planned}: only planned grouping is fitted; pass planned or whole, or leave fit out"
        )
        raise ConfigurationError(message)
    return planned


def _fit(
    df: DataFrame,
    hashed: Column,
    cost: Column | None,
    grouping: PlannedGrouping,
    workers: int,
    store: RoutingTables,
) -> Snapshot:
    session = df.sparkSession
    before = at_state(session, store.latest)
    memory = _counted(df, hashed, cost, grouping, workers, before)
    # Number 0 is what every epoch finds that has no table of its own.
    at_state(session, functools.partial(store.write, 0, RoutingTable(memory)))
    return memory


def _counted(
    df: DataFrame,
    hashed: Column,
    cost: Column | None,
    grouping: PlannedGrouping,
    workers: int,
    before: Snapshot,
) -> Snapshot:
    """Count a batch and plan from that, near to the plan of before."""
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
    if df.isStreaming and learn and grouping.planning == "current":
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
    tables, meeting = tables_of(session, state, str(grouping), workers)
    if state is None:
        # Nothing is written before a query runs: it may never.
        return Followed(tables, meeting, plan or {})
    if plan is not None:
        at_state(session, functools.partial(tables.write, 0, RoutingTable(plan)))
    return Followed(tables, meeting)


def learning_of_workers(
    session: SparkSession,
    grouping: PlannedGrouping,
    workers: int,
    state: str | Path | Store | None,
) -> Learning:
    """Make what plans each epoch of a stream of what its workers held in the one before.

    Raises
    ------
    ConfigurationError
        `state` is no place, or no store is known for its scheme.
    RunError
        The state cannot be written.
    """
    tables, meeting = tables_of(session, state, str(grouping), workers)
    return Learning(tables, meeting, OfWorkers(grouping, workers))


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
        return _counted(df, hashed, None, grouping, workers, before), True
    session = df.sparkSession
    store = RoutingTables(store_of(session, state), str(grouping), workers)
    if plan is not None:
        at_state(session, functools.partial(store.write, 0, RoutingTable(plan)))
    if _counts_batch(grouping, at_state(session, store.latest)):
        return _fit(df, hashed, None, grouping, workers, store), True
    followed = at_state(session, functools.partial(store.read, 0)).memory
    return followed, "counted" in followed


def _counts_batch(grouping: PlannedGrouping, before: Snapshot) -> bool:
    """Whether a batch is counted: a plan that is there is followed, whatever it was made of."""
    return grouping.planning == "current" if before else grouping.counts_first({})
