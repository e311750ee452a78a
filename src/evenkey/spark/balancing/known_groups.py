"""Group rows by a plan that is made from known loads, so that no key is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError
from evenkey.groupings import Plan, PlannedGrouping, whole_plan
from evenkey.spark.groups.exchange import exchanged
from evenkey.spark.groups.group_by import Grouped
from evenkey.spark.groups.group_keys import keyed, unplaceable_in_window
from evenkey.spark.groups.group_plans import GroupPlan, GroupPlans
from evenkey.spark.groups.rows import Rows
from evenkey.spark.plans.plan_source import Fixed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from evenkey.groupings import KeyStatistics
    from evenkey.spark.groups.cogrouped import Cogrouped
    from evenkey.spark.groups.group_plans import Way
    from evenkey.spark.groups.weights import Side, Weights
    from evenkey.spark.plans.known_loads import KnownLoads


def plan_of_groups(loads: KnownLoads, workers: int) -> Plan:
    """Make a plan that splits no key; the hottest keys are in the first tasks."""
    buckets = PlannedGrouping().bucket_count(workers)
    return whole_plan(loads.keys, loads.rows, loads.in_buckets(buckets), workers)


def grouped_by_plan(
    frames: Sequence[DataFrame], keys: Sequence[Sequence[object]], plan: Plan
) -> Grouped | Cogrouped:
    """Group one DataFrame as `groupBy` does, or two as `Grouped.cogroup` does, by a given plan.

    Parameters
    ----------
    frames, keys
        The DataFrames, and the keys of each as for ``df.groupBy``.
    plan
        Plan with whole keys for the rows of all frames together.

    Raises
    ------
    ConfigurationError
        evenkey cannot place rows by these keys.
    """
    rows = [_PlannedRows(frame, given, plan) for frame, given in zip(frames, keys, strict=True)]
    first, *others = map(Grouped, rows)
    if not others:
        return first
    if rows[0].keys.types != rows[1].keys.types:
        message = "the keys are of different types; cast one side to the types of the other"
        raise ConfigurationError(message)
    return first.cogroup(others[0])


def placed_by_plan(frame: DataFrame, names: Sequence[str], plan: Plan) -> DataFrame:
    """Move the rows of each key to one task by a plan, and add the column that says to which.

    Parameters
    ----------
    frame
        The rows.
    names
        Names of the columns of the key.
    plan
        Plan with whole keys.

    Raises
    ------
    ConfigurationError
        evenkey cannot place the rows of a window by these keys.
    """
    keys = keyed(frame, names)
    reason = unplaceable_in_window(keys)
    if reason is not None:
        raise ConfigurationError(reason)
    fixed = Fixed(plan.to_arrays())
    return exchanged(keys, fixed, PlannedGrouping(), plan.workers, whole=True)


class _PlannedRows(Rows):
    """Rows that follow a plan with whole keys which exists already."""

    def __init__(self, df: DataFrame, keys: Sequence[object], plan: Plan) -> None:
        super().__init__(df, keys, plan.workers, "whole", None, None)
        self._plan = plan

    def plans_of(self, *sides: Side) -> GroupPlans:
        """Return the plan, also for rows of several sides."""
        del sides
        return _KnownPlan(self, self._plan)


class _KnownPlan(GroupPlans):
    def __init__(self, rows: Rows, plan: Plan) -> None:
        session = rows.df.sparkSession
        super().__init__(session, rows.keys.shown, rows.grouping, rows.workers, None, _weigh)
        self._plan = GroupPlan(plan.to_arrays())

    def of(self, way: Way) -> GroupPlan:
        """Return the plan; `way` is always ``whole``."""
        del way
        return self._plan


def _weigh(empty: KeyStatistics) -> Weights:
    """Replace the function that counts keys, which is never called."""
    raise AssertionError(empty)
