"""Groupings with a routing table: a key stays on its worker."""

from __future__ import annotations

from evenkey.groupings.tables.affinity import CardinalityAffinity
from evenkey.groupings.tables.base import PLACE
from evenkey.groupings.tables.given_frequencies import descending, on_least_loaded
from evenkey.groupings.tables.key_table import check_read, items_of, table_of, within
from evenkey.groupings.tables.offline_greedy import OfflineGreedy
from evenkey.groupings.tables.online_greedy import OnlineGreedy
from evenkey.groupings.tables.static_choices import StaticChoices

__all__ = [
    "PLACE",
    "CardinalityAffinity",
    "OfflineGreedy",
    "OnlineGreedy",
    "StaticChoices",
    "check_read",
    "descending",
    "items_of",
    "on_least_loaded",
    "table_of",
    "within",
]
