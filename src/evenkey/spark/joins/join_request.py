"""A join as it is asked for: its arguments, checked, and the plan for it."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, NamedTuple, get_args

from evenkey.core.checking import check_one_of, check_workers
from evenkey.groupings import PlannedGrouping
from evenkey.spark.joins.conditions import conditions_of, joined_by_spark, keyed_by_conditions
from evenkey.spark.joins.dealt_and_copied import JoinPlan, make_join_plan
from evenkey.spark.joins.join_counts import JoinCounts, count_both
from evenkey.spark.joins.join_keys import JoinKeys, join_keys
from evenkey.spark.joins.join_kinds import Weigh, kind_of
from evenkey.spark.joins.stream_join import check_stream
from evenkey.spark.keys.given_columns import (
    check_frame,
    check_own_names,
    column_names,
    find_columns,
)
from evenkey.spark.keys.row_numbers import printed_plan
from evenkey.spark.plans.batch_plans import KeptPlan
from evenkey.spark.plans.places import check_state
from evenkey.spark.sessions.task_slots import shuffle_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Self

    from pyspark.sql import Column, DataFrame

    from evenkey.core.stores import Store
    from evenkey.spark.joins.join_kinds import Kind

_JOIN = re.compile(r"^[ :+*()\d-]*(\w*Join)\b", re.MULTILINE)
"""The topmost join of a plan as Spark prints it."""


class PlannedJoin(NamedTuple):
    """A plan, the key's columns unless the join is left to Spark, and the counts, if any."""

    plan: JoinPlan
    keys: JoinKeys | None
    counts: JoinCounts | None = None


class JoinRequest(NamedTuple):
    """The arguments of a join.

    Parameters
    ----------
    left, right
        The sides, which both have the key's columns.
    names, shown
        The key's columns, and what the user calls them.
    own
        Those of them that are not the user's.
    kind, workers, weigh, state
        As for `join`.
    plain
        Spark's own join.
    """

    left: DataFrame
    right: DataFrame
    names: tuple[str, ...]
    shown: tuple[str, ...]
    own: tuple[str, ...]
    kind: Kind
    workers: int
    weigh: Weigh
    state: str | Path | Store | None
    plain: DataFrame

    @classmethod
    def of(
        cls,
        left: DataFrame,
        right: DataFrame,
        on: str | Column | Sequence[str | Column],
        how: str,
        workers: int | None,
        weigh: Weigh,
        state: str | Path | Store | None,
    ) -> Self:
        """Check the arguments of `join`.

        Raises
        ------
        ConfigurationError
            As `join` does.
        """
        check_frame(left, "left")
        check_frame(right, "right")
        conditions, kind = conditions_of(on), kind_of(how)
        names = column_names(on, "on") if conditions is None else ()
        for side in (left, right):
            if names:
                find_columns(side, names, "on")
            check_own_names(side)
        check_one_of("weigh", weigh, get_args(Weigh))
        check_state(state)
        if workers is None:
            workers = shuffle_partitions(left.sparkSession)
        check_workers(workers)
        check_stream(left, right, kind)
        shown = names
        own: tuple[str, ...] = ()
        if conditions is None:
            plain = left.join(right, [*names], kind.name)
        else:
            plain = joined_by_spark(left, right, conditions, kind.name)
            left, right, names, shown = keyed_by_conditions(left, right, conditions)
            own = names
        return cls(left, right, names, shown, own, kind, workers, weigh, state, plain)

    @property
    def streams(self) -> bool:
        """Whether a side is a stream."""
        return self.left.isStreaming or self.right.isStreaming

    def planned(self, partitions: int | None = None) -> PlannedJoin:
        """Plan the join.

        Keys are counted unless `state` holds a plan. They are always counted if the work of so many
        `partitions` of Spark's own join is asked for.

        Raises
        ------
        ConfigurationError, RunError
            As `join` does.
        """
        keys = join_keys(self.left, self.right, self.names, self.shown)
        reason = keys if isinstance(keys, str) else _broadcast(self.plain)
        if isinstance(keys, str) or reason is not None:
            return PlannedJoin(JoinPlan(self.kind.name, self.weigh, self.workers, reason), None)
        if self.streams:
            return PlannedJoin(JoinPlan(self.kind.name, self.weigh, self.workers), keys)
        label = f"join(how={self.kind.name},weigh={self.weigh})"
        kept = KeptPlan.at(self.left.sparkSession, self.state, label, self.workers)
        known = kept.find()
        plan = None
        if known:
            plan = JoinPlan.from_arrays(known, self.kind.name, self.weigh, self.workers)
            if partitions is None:
                return PlannedJoin(plan, keys)
        begin = time.monotonic()
        counts = self._counted(keys, partitions)
        if plan is None:
            seconds = time.monotonic() - begin
            plan = make_join_plan(counts, self.kind, self.weigh, self.workers, seconds)
            kept.keep(plan.to_arrays())
        return PlannedJoin(plan, keys, counts)

    def _counted(self, keys: JoinKeys, partitions: int | None) -> JoinCounts:
        sizes = PlannedGrouping().statistics(self.workers)
        return count_both(
            self.left,
            self.right,
            keys,
            self.kind,
            self.weigh,
            heaviest=sizes.sketch.capacity,
            buckets=len(sizes.bucket_loads),
            partitions=partitions,
        )


def _broadcast(plain: DataFrame) -> str | None:
    """Say so if Spark means to broadcast a side of a join; None otherwise."""
    first = _JOIN.search(printed_plan(plain))
    if first is None or not first[1].startswith("Broadcast"):
        return None
    return "it broadcasts a side, so no row of the other one moves, and no task gets more of them"
