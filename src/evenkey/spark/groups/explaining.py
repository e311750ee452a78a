"""The text of ``explain``: what a groupBy does with its keys, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.spark.groups.group_plans import GroupPlan
    from evenkey.spark.groups.rows import Rows

TO_SPLIT = "; to split it pass merge="
_COMBINED = (
    "agg, count, sum, avg, mean, min, max, pivot: Spark's own, which combines before its shuffle"
)


def explained(rows: Rows) -> str:
    """Describe the choice for each kind of work, and the expected balance.

    The keys of a batch are counted if they have not been yet.

    Raises
    ------
    ConfigurationError, RunError
        As the methods do.
    """
    lines = [f"groupBy({', '.join(rows.keys.shown)}), {rows.workers} workers", _COMBINED]
    if rows.df.isStreaming:
        lines.append("transformWithState and its like: whole keys, by the plan in state=")
    else:
        lines += _of_batch(rows)
    return "\n".join(lines)


def _of_batch(rows: Rows) -> Iterator[str]:
    works = {
        "applyInPandas, applyInArrow, cogroup": False,
        "applyInPandas, applyInArrow with merge=": True,
    }
    for work, merges in works.items():
        try:
            choice = rows.choice(merges=merges)
        except ConfigurationError as error:
            yield f"{work}: refused ({error})"
            continue
        if choice.way == "spark":
            yield f"{work}: Spark's own placement ({choice.why})"
            continue
        plan = rows.plans.of(choice.way)
        how = "whole keys" if choice.way == "whole" else "split keys"
        yield f"{work}: {how} ({choice.why})"
        yield f"  max/mean load: {plan.imbalance:.3f} expected"
        bound = plan.bound(rows.workers) if choice.way == "whole" else ""
        if bound:
            yield f"  {bound}{TO_SPLIT}"
        yield f"  {_cost(plan)}"


def _cost(plan: GroupPlan) -> str:
    if plan.place:
        return f"the plan was read from {plan.place}: nothing was counted"
    seconds = 0.0 if plan.about is None else plan.about.seconds
    return (
        f"counting took {seconds:.1f} s and read the input once more; state= keeps the plan "
        "for the next call"
    )
