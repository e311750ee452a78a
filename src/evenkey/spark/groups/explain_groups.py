"""Explain a groupBy: where its keys go, and why."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError
from evenkey.groupings import Plan
from evenkey.spark.keys.explanation import STATE_KEEPS, Explanation, Placement, counted, hottest
from evenkey.spark.sessions.task_slots import slots_of

if TYPE_CHECKING:
    from evenkey.spark.groups.choosing import Choice
    from evenkey.spark.groups.group_plans import GroupPlan
    from evenkey.spark.groups.rows import Rows

TO_SPLIT = "; to split it pass merge="
_COMBINED = (
    "agg, count, sum, avg, mean, min, max, pivot: Spark's own, which combines before its shuffle"
)
_WHOLE, _SPLIT = "applyInPandas, applyInArrow", "applyInPandas, applyInArrow with merge="


def explain_groups(rows: Rows) -> Explanation:
    """Explain the placement of keys for each kind of work.

    For a batch, this counts the rows of each key. It also counts the rows that Spark's own
    placement would send to each task.

    Raises
    ------
    ConfigurationError, RunError
        As for the methods of `Grouped`.
    """
    if rows.df.isStreaming:
        work = "transformWithState and similar"
        placements = [Placement(work, "whole keys, by the plan in state=, or by their hash")]
    else:
        explained = _OfBatch(rows)
        placements = [explained.of(_WHOLE), explained.of(_SPLIT, merges=True)]
    return Explanation(rows.shown, rows.workers, tuple(placements), (_COMBINED,))


class _OfBatch:
    """Explains the placements of a batch's keys; rows are counted once for all placements."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    @cached_property
    def _slots(self) -> int:
        return slots_of(self._rows.df.sparkSession)

    def of(self, work: str, *, merges: bool = False) -> Placement:
        """Return the placement of keys for one kind of work."""
        rows = self._rows
        try:
            asked = rows.choice(merges=merges)
        except ConfigurationError as error:
            return Placement(work, f"refused ({error})")
        choice = rows.settled(asked)
        if choice.way == "spark":
            notes = (f"cost: {self._counted(choice)}",) if choice.seconds else ()
            return Placement(work, f"Spark's own placement ({choice.why})", notes=notes)
        found, weights = rows.plans.of(choice.way), rows.plans.weights
        plan, total = Plan.from_arrays(found.memory, rows.workers), weights.statistics.total
        keys, loads, rest = weights.statistics.items(0.0)
        bound = found.bound(rows.workers) if choice.way == "whole" else ""
        how = "whole keys" if choice.way == "whole" else "split keys"
        return Placement(
            work,
            f"{how} ({choice.why})",
            unit="rows" if weights.of_rows else "cost",
            hot_keys=hottest(plan, keys, loads, total, weights.names.of),
            loads=plan.loads_of(keys, loads, rest),
            spark_loads=weights.spark_loads,
            slots=self._slots,
            notes=(*([f"{bound}{'' if merges else TO_SPLIT}"] if bound else []), self._cost(found)),
        )

    def _cost(self, plan: GroupPlan) -> str:
        if plan.place:
            learns = plan.about is not None and plan.about.learns
            then = " first; each run counts its keys for the next one" if learns else ""
            return f"cost: the plan was read from {plan.place}: the operator counts nothing{then}"
        return f"cost: {self._counted(plan)}; {STATE_KEEPS}"

    def _counted(self, found: Choice | GroupPlan) -> str:
        return counted(found.seconds, "the input", found.error, self._rows.plans.weights.costly)
