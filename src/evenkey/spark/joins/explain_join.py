"""Explain a join: which keys are split, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.spark.keys.explanation import (
    Explanation,
    Placement,
    counted,
    counted_or_stored,
    hottest,
)
from evenkey.spark.keys.given_columns import hash_of
from evenkey.spark.keys.key_names import KeyNames, NamedRows
from evenkey.spark.plans.costly_inputs import costly_part
from evenkey.spark.sessions.task_slots import slots_of

if TYPE_CHECKING:
    from evenkey.spark.joins.dealt_and_copied import JoinPlan
    from evenkey.spark.joins.join_request import JoinRequest


def explain_join(request: JoinRequest) -> Explanation:
    """Explain how `join` places the keys: its choice and why, the hot keys, the load of each task.

    If both sides are batches, a Spark job counts their keys, even if `state` has a plan. Nothing is
    counted if a side is a stream, or if Spark's own join is used.

    Raises
    ------
    ConfigurationError, RunError
        As for `join`.
    """
    session = request.left.sparkSession
    plan, keys, counts = request.planned(counts=True)
    operator = f"{request.kind.name} join on {', '.join(request.shown)}"
    if plan.reason is not None:
        cost = counted(plan.seconds, "both sides", plan.error)
        notes = (f"cost: {cost}",) if counts else ()
        placement = Placement("join", f"Spark's own join ({plan.reason})", notes=notes)
    elif plan.plan is None or keys is None or counts is None:
        placement = Placement("join", "plans are made epoch by epoch, from the rows of the stream")
    else:
        total = float(counts.bucket_work.sum())
        sides = ((request.left, keys.left), (request.right, keys.right))
        names = KeyNames(
            [NamedRows(side, columns, request.shown, hash_of(columns)) for side, columns in sides]
        )
        parts = (part for side in request.read(keys) if (part := costly_part(side)) is not None)
        costly = next(parts, None)
        counting = counted_or_stored(plan.seconds, "both sides", plan.error, costly)
        placement = Placement(
            "join",
            _choice(plan),
            unit="rows" if request.weigh == "rows" else "work",
            hot_keys=hottest(plan.plan, counts.keys, counts.work, total, names.of),
            loads=plan.plan.loads_of(counts.keys, counts.work, counts.rest()),
            spark_loads=counts.spark_loads,
            slots=slots_of(session),
            notes=(f"cost: {_copied(plan.copies(counts))}{counting}",),
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
