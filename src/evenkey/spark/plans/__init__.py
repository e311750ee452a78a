"""Make and store plans, which assign keys to workers, and look keys up in plans."""

from __future__ import annotations

from evenkey.spark.plans.lookup import dealt_by_number
from evenkey.spark.plans.packed_plan import pack_places
from evenkey.spark.plans.places import check_state
from evenkey.spark.plans.plan_source import PlanSource

__all__ = [
    "PlanSource",
    "check_state",
    "dealt_by_number",
    "pack_places",
]
