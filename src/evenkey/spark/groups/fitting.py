"""`fit`: make a plan from a batch; `route` and `groupBy` follow the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.checking import number
from evenkey.core.errors import ConfigurationError
from evenkey.groupings import Plan, PlannedGrouping, parse, planner_of
from evenkey.spark.groups.rows import Rows
from evenkey.spark.keys.given_columns import check_frame, key_columns, key_hash, number_column
from evenkey.spark.plans.batch_plans import KeptPlan, plan_near
from evenkey.spark.plans.places import check_state

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame

    from evenkey.core.stores import Store
    from evenkey.groupings import Grouping


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
    """Count the keys of a batch DataFrame and make a plan for `route` or `groupBy`.

    Parameters
    ----------
    df
        Batch: all of the data, a sample of the data, or similar earlier data.
    key
        Key column, or columns that form the key together.
    grouping
        ``"planned"``, with the parameters that `route` will use. Or ``"whole"``, which splits no
        key, for `groupBy` and for keys with state.
    workers
        Number of workers, at least 1; the number that `route` or `groupBy` will use.
    state
        Storage location of the plan; pass the same location to `route` or `groupBy`. If the
        location has a plan already, the new plan leaves most keys on their workers.
    cost
        Column with the cost of each row, such as measured seconds; None: each row costs the same.
    fraction
        Fraction of the rows to sample and count, above 0, at most 1.

    Returns
    -------
    Plan
        The plan. Its attributes `loads` and `extra_pairs` predict balance and replication.

    Raises
    ------
    ConfigurationError
        A column is missing, the grouping makes no plans, the DataFrame is a stream, a cost is
        negative, or the fraction is out of range.

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
        message = (
            "df is a stream: fit counts a batch; pass earlier data or a sample, or call fit in "
            "foreachBatch"
        )
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
    kept = KeptPlan.at(df.sparkSession, state, str(planned), workers)
    memory = plan_near(df, hashed, costs, planned, workers, kept.find())
    kept.keep(memory)
    return Plan.from_arrays(memory)


def _planned(grouping: str | Grouping) -> PlannedGrouping:
    found = parse(grouping)
    planned = planner_of(found)
    if planned is None:
        message = (
            f"{found}: fit makes plans for 'planned' and 'whole' only; pass one of these, or leave "
            "out fit"
        )
        raise ConfigurationError(message)
    return planned
