"""Explain a join: which keys are split, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.spark.joins.join_request import JoinRequest
from evenkey.spark.keys.explanation import Explanation, Placement, hottest
from evenkey.spark.keys.given_columns import hash_of
from evenkey.spark.keys.key_names import name_of_key
from evenkey.spark.sessions.task_slots import shuffle_partitions, slots_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from pyspark.sql import Column, DataFrame

    from evenkey.core.stores import Store
    from evenkey.spark.joins.dealt_and_copied import JoinPlan
    from evenkey.spark.joins.join_keys import JoinKeys
    from evenkey.spark.joins.join_kinds import Weigh


def explain_join(
    left: DataFrame,
    right: DataFrame,
    on: str | Column | Sequence[str | Column],
    how: str,
    workers: int | None,
    weigh: Weigh,
    state: str | Path | Store | None,
) -> Explanation:
    """Explain `join`; this counts the keys of two batches, also if `state` has a plan.

    Raises
    ------
    ConfigurationError, RunError
        As for `join`.
    """
    request = JoinRequest.of(left, right, on, how, workers, weigh, state)
    session = left.sparkSession
    plan, keys, counts = request.planned(shuffle_partitions(session))
    operator = f"{request.kind.name} join on {', '.join(request.shown)}"
    if plan.reason is not None:
        placement = Placement("join", f"Spark's own join ({plan.reason})")
    elif plan.plan is None or keys is None or counts is None:
        placement = Placement("join", "plans are made epoch by epoch, from the rows of the stream")
    else:
        total = float(counts.bucket_work.sum())
        names = _Names(request, keys)
        placement = Placement(
            "join",
            _choice(plan),
            unit="rows" if weigh == "rows" else "work",
            hot_keys=hottest(plan.plan, counts.keys, counts.work, total, names.of),
            loads=plan.plan.loads_of(counts.keys, counts.work, counts.rest),
            spark_loads=counts.spark_loads,
            slots=slots_of(session),
            notes=(f"cost: {_copied(plan.copies(counts))}{_counting(plan)}",),
        )
    return Explanation(operator, request.workers, (placement,))


def _choice(plan: JoinPlan) -> str:
    ways = [("left", "right", plan.dealt_left), ("right", "left", plan.dealt_right)]
    parts = [
        f"{len(dealt):,} by distributing the {one} rows and copying the {other} rows"
        for one, other, dealt in ways
        if dealt is not None and len(dealt)
    ]
    if not parts:
        return "whole keys (none has more work than a task should have)"
    return f"split keys ({'; '.join(parts)})"


def _copied(rows: int) -> str:
    return f"{rows:,} rows are copied; " if rows else ""


def _counting(plan: JoinPlan) -> str:
    if not plan.seconds:
        return "the plan was read from state=, so the operator counts nothing"
    return (
        f"counting took {plan.seconds:.1f} s and read both sides once more; state= keeps the "
        "plan for the next call"
    )


class _Names:
    """Finds the name of a key of a join, in the rows of a side that has the key."""

    def __init__(self, request: JoinRequest, keys: JoinKeys) -> None:
        self._shown = request.shown
        self._sides = ((request.left, keys.left), (request.right, keys.right))

    def of(self, key: np.uint64) -> str:
        """Return the name of the key with a hash."""
        for side, columns in self._sides:
            name = name_of_key(side, columns, self._shown, hash_of(columns), key)
            if name is not None:
                return name
        return "a key"  # a side may have other rows each time it is read
