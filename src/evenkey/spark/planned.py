"""Planned grouping on Spark: fit a plan to data, and route by plans natively."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import functions as F

from evenkey.checking import check_path, number
from evenkey.errors import ConfigurationError
from evenkey.groupings import Planned, parse
from evenkey.groupings.planned import Plan
from evenkey.spark.columns import check_frame, key_hash, number_column
from evenkey.spark.plan_lookup import with_planned_worker
from evenkey.spark.plan_statistics import count_keys, learn_from
from evenkey.spark.routing_table import RoutingTable, RoutingTables
from evenkey.spark.session import temporary_directory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import Column, DataFrame

    from evenkey.groupings import Grouping, Snapshot
    from evenkey.groupings.planned import KeyStatistics

__all__ = ["fit", "route_planned"]


def fit(
    df: DataFrame,
    key: str | Sequence[str],
    grouping: str | Grouping,
    workers: int,
    *,
    tables: str | Path,
    cost: str | None = None,
    fraction: float = 1.0,
) -> Plan:
    """Count the keys of a batch DataFrame and plan from them, for `route` to follow.

    Parameters
    ----------
    df
        Batch; all of the data, a sample, or earlier data like it.
    key
        Key column, or columns that form the key together.
    grouping, workers
        ``"planned"``, with the parameters and worker count that `route` will be given.
    tables
        Directory of the plan. A plan that it holds is the one to stay near to.
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
    """
    check_frame(df)
    planned = _planned(grouping)
    planned.router(workers)
    check_path("tables", tables)
    number("fraction", fraction)
    if df.isStreaming:
        message = "fit counts a batch: pass earlier data or a sample, or call it in foreachBatch"
        raise ConfigurationError(message)
    if not 0 < fraction <= 1:
        message = f"fraction = {fraction}: must be above 0 and at most 1"
        raise ConfigurationError(message)
    hashed = key_hash(df, key)
    costs = None if cost is None else number_column(df, cost, "cost")
    store = RoutingTables(tables, str(planned), workers)
    if fraction < 1:
        df = df.sample(fraction=fraction, seed=0)
    return Plan.from_arrays(_fit(df, hashed, costs, planned, workers, store))


def _planned(grouping: str | Grouping) -> Planned:
    planned = parse(grouping)
    if not isinstance(planned, Planned):
        message = f"{planned}: only planned grouping is fitted; pass planned, or leave out fit"
        raise ConfigurationError(message)
    return planned


def _fit(
    df: DataFrame,
    hashed: Column,
    cost: Column | None,
    grouping: Planned,
    workers: int,
    store: RoutingTables,
) -> Snapshot:
    numbers = store.numbers()
    before = store.read(numbers[-1]).memory if numbers else {}
    statistics = grouping.statistics(workers)
    if cost is None:
        count_keys(df, hashed, statistics)
    else:
        _sum_costs(df, hashed, cost, statistics)
    previous = Plan.from_arrays(before) if before else None
    memory = grouping.plan_of(statistics, workers, previous).to_arrays()
    # Number 0 is what every epoch finds that has no table of its own.
    store.write(0, RoutingTable(memory))
    return memory


def _sum_costs(df: DataFrame, hashed: Column, cost: Column, statistics: KeyStatistics) -> None:
    """Sum costs by key, exactly."""
    costs = df.groupBy(hashed.alias("hash")).agg(F.sum(cost.cast("double")).alias("cost")).toArrow()
    keys = costs["hash"].to_numpy().view(np.uint64)
    statistics.add_counted(keys, costs["cost"].fill_null(0.0).to_numpy())


def route_planned(
    df: DataFrame,
    hashed: Column,
    grouping: Planned,
    workers: int,
    *,
    plan: Snapshot | None,
    tables: str | Path | None,
    column: str,
    position: Column | None = None,
    learn: bool = True,
) -> DataFrame:
    """Route by plans, without Python in the way of a message.

    A batch is counted first, here and now, unless a plan is there that the grouping may follow.
    A stream follows the plans in `tables` and, if it is to `learn`, makes them.
    """
    if df.isStreaming and learn and grouping.planning == "current":
        message = (
            f"{grouping}: Spark routes an epoch of a stream while it reads it; route in "
            "foreachBatch, where it is counted first, or choose another planning"
        )
        raise ConfigurationError(message)
    store = RoutingTables(
        tables or temporary_directory(df.sparkSession, "tables"), str(grouping), workers
    )
    if plan is not None:
        store.write(0, RoutingTable(plan))
    if df.isStreaming:
        if learn and grouping.planning in ("auto", "previous"):
            df = learn_from(df, hashed, grouping, workers, store)
    else:
        numbers = store.numbers()
        if grouping.counts_first(store.read(numbers[-1]).memory if numbers else {}):
            _fit(df, hashed, None, grouping, workers, store)
    return with_planned_worker(df, hashed, grouping, workers, store, column, position)
