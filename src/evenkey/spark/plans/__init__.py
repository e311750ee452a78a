"""Which worker gets which key: tables and plans, how they are kept, and how they are made."""

from __future__ import annotations

from evenkey.spark.plans.lookup import dealt_by_number
from evenkey.spark.plans.packed import pack_places
from evenkey.spark.plans.places import check_state

__all__ = [
    "check_state",
    "dealt_by_number",
    "pack_places",
]
