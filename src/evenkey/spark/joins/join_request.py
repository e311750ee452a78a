"""Check the arguments of a join, and make or read its plan."""

from __future__ import annotations

import json
import logging
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np

from evenkey.core.checking import check_one_of, check_workers
from evenkey.core.errors import ConfigurationError
from evenkey.groupings import PlannedGrouping
from evenkey.spark.joins.conditions import conditions_of, joined_by_spark, keyed_by_conditions
from evenkey.spark.joins.dealt_and_copied import JoinPlan, make_join_plan
from evenkey.spark.joins.join_counts import JoinCounts, Sizes, count_both
from evenkey.spark.joins.join_keys import JoinKeys, join_keys
from evenkey.spark.joins.join_kinds import Weigh, kind_of
from evenkey.spark.joins.stream_join import check_stream
from evenkey.spark.keys.explanation import speedup
from evenkey.spark.keys.given_columns import (
    check_frame,
    check_own_names,
    column_names,
    find_columns,
)
from evenkey.spark.keys.spark_placement import no_gain
from evenkey.spark.plans.batch_plans import KeptPlan, stored_workers
from evenkey.spark.plans.costly_inputs import warn_of_costly
from evenkey.spark.plans.places import check_state
from evenkey.spark.sessions.printed_plans import printed_plan
from evenkey.spark.sessions.task_slots import default_workers, shuffle_partitions, slots_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Self

    from pyspark.sql import Column, DataFrame

    from evenkey.core.stores import Store
    from evenkey.groupings import Snapshot
    from evenkey.spark.joins.join_kinds import Kind

logger = logging.getLogger(__name__)

_FIX = "persist it first, or pass state=, which keeps the plan for later calls"
_ON = "on"
"""Name of the array of a stored plan that has the names of the join's keys."""
_JOIN = re.compile(r"^[ :+*()\d-]*(\w*Join)\b", re.MULTILINE)
"""Matches the topmost join in a plan that Spark has printed."""


class PlannedJoin(NamedTuple):
    """Plan of a join, its key columns and its counts.

    Keys are None if Spark's own join runs. Counts are None if the keys were not counted.
    """

    plan: JoinPlan
    keys: JoinKeys | None
    counts: JoinCounts | None = None


class JoinRequest(NamedTuple):
    """The checked arguments of a join.

    Parameters
    ----------
    left, right
        The sides; both have the key columns.
    names, shown
        Names of the key columns, and their names in messages.
    own
        Key columns that evenkey added to the sides, which are dropped from the result.
    kind, workers, weigh, state, exact
        As for `join`.
    is_open
        Whether the user left it open who places the keys, so that Spark does if the gain is small.
    plain
        Result of Spark's own join.
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
    exact: bool
    is_open: bool
    plain: DataFrame

    @classmethod
    def of(
        cls,
        left: DataFrame,
        right: DataFrame,
        on: str | Column | Sequence[str | Column],
        how: str,
        workers: int | None,
        weigh: Weigh = "output",
        state: str | Path | Store | None = None,
        *,
        exact: bool = False,
    ) -> Self:
        """Check the arguments of `join`.

        Raises
        ------
        ConfigurationError
            An argument of `join` is invalid.
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
        check_one_of("exact", exact, (True, False))
        session = left.sparkSession
        partitions = shuffle_partitions(session)
        is_open = state is None and workers in (None, partitions)
        if workers is None:
            streams = left.isStreaming or right.isStreaming
            otherwise = partitions if streams else default_workers(session)
            workers = stored_workers(session, state) or otherwise
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
        return cls(
            left, right, names, shown, own, kind, workers, weigh, state, exact, is_open, plain
        )

    @property
    def streams(self) -> bool:
        """Whether a side is a stream."""
        return self.left.isStreaming or self.right.isStreaming

    def planned(self, *, counts: bool = False) -> PlannedJoin:
        """Make the plan of the join, or read it from `state`.

        Parameters
        ----------
        counts
            Whether keys are counted also if `state` has a plan.

        Raises
        ------
        ConfigurationError, RunError
            As for `join`.
        """
        keys = join_keys(self.left, self.right, self.names, self.shown)
        reason = keys if isinstance(keys, str) else self._unbalanced()
        if isinstance(keys, str) or reason is not None:
            return PlannedJoin(JoinPlan(self.kind.name, self.weigh, self.workers, reason), None)
        if self.streams:
            return PlannedJoin(JoinPlan(self.kind.name, self.weigh, self.workers), keys)
        label = f"join(how={self.kind.name},weigh={self.weigh})"
        kept = KeptPlan.at(self.left.sparkSession, self.state, label, self.workers)
        known = kept.find()
        plan = None
        if known:
            self._check_keys(known, kept)
            plan = JoinPlan.from_arrays(known, self.kind.name, self.weigh, self.workers)
            if not counts:
                return PlannedJoin(plan, keys)
        begin = time.monotonic()
        counted = self._counted(keys)
        seconds = time.monotonic() - begin
        warn_of_costly(logger, f"join ({self.kind.name})", self.read(keys), seconds, _FIX)
        if plan is None:
            plan = make_join_plan(counted, self.kind, self.weigh, self.workers, seconds)
            kept.keep({**plan.to_arrays(), _ON: np.array(json.dumps(self._folded_keys))})
        reason = self._little_gain(plan, counted)
        if reason is not None:
            return PlannedJoin(replace(plan, reason=reason), None, counted)
        return PlannedJoin(plan, keys, counted)

    @property
    def _folded_keys(self) -> list[str]:
        """Names of the keys in lower case, as Spark may find a column by another spelling."""
        return [name.lower() for name in self.shown]

    def _check_keys(self, known: Snapshot, kept: KeptPlan) -> None:
        """Check that a stored plan is for these keys; plans of earlier versions do not say."""
        keys = json.loads(str(known[_ON])) if _ON in known else self._folded_keys
        if keys != self._folded_keys:
            place = "" if kept.tables is None else f" {kept.tables.store.url}"
            message = (
                f"state{place} holds a plan for a join on {', '.join(keys)}, not on "
                f"{', '.join(self.shown)}: pass another location as state"
            )
            raise ConfigurationError(message)

    def read(self, keys: JoinKeys) -> tuple[DataFrame, DataFrame]:
        """Return the columns of both sides that counting reads."""
        return self.left.select(*keys.left), self.right.select(*keys.right)

    def _unbalanced(self) -> str | None:
        """Return why balance cannot make this join faster, whatever its rows are; None: it can."""
        if self.workers == 1 and not self.streams:
            return "there is one worker"
        return _broadcast(self.plain)

    def _little_gain(self, plan: JoinPlan, counts: JoinCounts) -> str | None:
        # The work does not include right rows that a semi or anti join only has to test.
        if not self.is_open or plan.plan is None or plan.combines_right:
            return None
        session = self.left.sparkSession
        slots = slots_of(session)
        # The plan does not include rows with a null key, which evenkey spreads over all workers.
        nulls = max(0.0, float(counts.spark_loads.sum() - counts.bucket_work.sum()))
        gain = speedup(counts.spark_loads, plan.plan.loads + nulls / self.workers, slots)
        columns = (len(self.left.columns), len(self.right.columns))
        values = sum(rows * number for rows, number in zip(counts.rows, columns, strict=True))
        return no_gain(session, gain, values, slots)

    def _counted(self, keys: JoinKeys) -> JoinCounts:
        empty = PlannedGrouping().statistics(self.workers)
        partitions = shuffle_partitions(self.left.sparkSession)
        sizes = Sizes(empty.sketch.capacity, len(empty.bucket_loads), partitions, self.workers)
        return count_both(
            self.left, self.right, keys, self.kind, self.weigh, sizes, exact=self.exact
        )


def _broadcast(plain: DataFrame) -> str | None:
    """Return a reason to leave the join to Spark if Spark broadcasts a side; None: it does not."""
    first = _JOIN.search(printed_plan(plain))
    if first is None or not first[1].startswith("Broadcast"):
        return None
    return "it broadcasts a side, so the other side is not shuffled, and hot keys make no task long"


def keys_to_follow(request: JoinRequest) -> JoinKeys:
    """Return the key columns of two batches, by which a plan that exists already places them.

    Raises
    ------
    ConfigurationError
        evenkey cannot place rows by these keys, or Spark broadcasts a side.
    """
    keys = join_keys(request.left, request.right, request.names, request.shown)
    reason = keys if isinstance(keys, str) else _broadcast(request.plain)
    if isinstance(keys, str) or reason is not None:
        raise ConfigurationError(str(reason))
    return keys
