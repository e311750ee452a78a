"""Planned grouping: the grouping, its plans and their statistics."""

from __future__ import annotations

from evenkey.groupings.planned.compiled_plan import OFFSET, OWNER_BITS, Lookup, compile_plan
from evenkey.groupings.planned.exact_counts import KeyCounts
from evenkey.groupings.planned.grouping import PlannedGrouping, Planning, planner_of
from evenkey.groupings.planned.plan import Plan, make_plan, unplanned
from evenkey.groupings.planned.statistics import KeyStatistics
from evenkey.groupings.planned.whole import whole_plan

__all__ = [
    "OFFSET",
    "OWNER_BITS",
    "KeyCounts",
    "KeyStatistics",
    "Lookup",
    "Plan",
    "PlannedGrouping",
    "Planning",
    "compile_plan",
    "make_plan",
    "planner_of",
    "unplanned",
    "whole_plan",
]
