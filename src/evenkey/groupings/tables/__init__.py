"""Groupings with a routing table: a key stays where it was put."""

from __future__ import annotations

from evenkey.groupings.tables.affinity import CardinalityAffinity
from evenkey.groupings.tables.offline_greedy import OfflineGreedy
from evenkey.groupings.tables.online_greedy import OnlineGreedy
from evenkey.groupings.tables.static_choices import StaticChoices

__all__ = ["CardinalityAffinity", "OfflineGreedy", "OnlineGreedy", "StaticChoices"]
