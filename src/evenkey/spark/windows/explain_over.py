"""Explain a window: which keys are cut, and how each column is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.groupings import Plan
from evenkey.spark.keys.explanation import Explanation, Placement, counted_or_stored, hottest
from evenkey.spark.plans.costly_inputs import costly_part
from evenkey.spark.sessions.task_slots import slots_of
from evenkey.spark.windows.window_plans import planned

if TYPE_CHECKING:
    from evenkey.spark.windows.served_columns import Served, Way
    from evenkey.spark.windows.window_plans import WindowPlan
    from evenkey.spark.windows.window_request import WindowRequest

_WAYS: dict[Way, str] = {
    "carry": "a value carried from other pieces",
    "neighbours": "copies of the rows next to a piece",
    "joined": "an aggregate of the key, joined to its rows",
}


def explain_over(request: WindowRequest) -> Explanation:
    """Explain `over`; this counts the keys, also if `state` has a plan.

    Raises
    ------
    ConfigurationError, RunError
        As for `over`.
    """
    plan = planned(request, counts=True)
    notes = tuple(
        f"{given.name}: {_way(steps)}"
        for given, steps in zip(request.given, request.steps, strict=True)
    )
    return Explanation(request.shown, request.workers, (_placement(request, plan, notes),))


def _way(steps: Served | str) -> str:
    if isinstance(steps, str):
        return f"Spark's own window, in one task for each key ({steps})"
    return _WAYS[steps.way]


def _placement(request: WindowRequest, plan: WindowPlan, notes: tuple[str, ...]) -> Placement:
    if plan.weights is None:
        return Placement("windows", f"Spark's own ({plan.reason})", notes=notes)
    keys, loads, rest = plan.weights.statistics.items(0.0)
    total = plan.weights.statistics.total
    placed = Plan.from_arrays(plan.memory, request.workers, len(rest))
    hot = "" if plan.cuts is None else f"hot keys are cut into {len(plan.cuts.workers)} pieces"
    choice = f"{hot}{plan.bound}" if hot else "Spark's own (no key is too hot for one task)"
    cut = plan.cuts is not None
    costly = costly_part(request.keys.frame.select(request.keys.hashed))
    counting = counted_or_stored(plan.seconds, "the keys", plan.error, costly)
    return Placement(
        "windows",
        choice,
        unit="rows" if plan.weights.of_rows else "cost",
        hot_keys=hottest(placed, keys, loads, total, plan.weights.names.of),
        **(
            {
                "loads": placed.loads_of(keys, loads, rest),
                "spark_loads": plan.weights.spark_loads,
            }
            if cut
            else {}
        ),
        slots=slots_of(request.df.sparkSession),
        notes=(*(notes if cut else ()), f"cost: {counting}"),
    )
