"""Stream-static joins that stay balanced: by key or by space."""

from __future__ import annotations

from evenkey.joins.balanced import balanced_join
from evenkey.joins.dead_letters import DeadLetters
from evenkey.joins.distributor import DynamicDistributor
from evenkey.joins.modes import MODES, Mode
from evenkey.joins.on import SpatialMatch
from evenkey.joins.slots import CLUSTER_SETTINGS
from evenkey.joins.static_side import refresh
from evenkey.joins.static_store import StaticStore

__all__ = [
    "CLUSTER_SETTINGS",
    "MODES",
    "DeadLetters",
    "DynamicDistributor",
    "Mode",
    "SpatialMatch",
    "StaticStore",
    "balanced_join",
    "refresh",
]
