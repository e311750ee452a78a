"""Stream-static joins that stay balanced: by key or by space."""

from __future__ import annotations

from evenkey.joins.distributor import DynamicDistributor
from evenkey.joins.modes import MODES, Mode
from evenkey.joins.static_store import StaticStore

__all__ = ["MODES", "DynamicDistributor", "Mode", "StaticStore"]
