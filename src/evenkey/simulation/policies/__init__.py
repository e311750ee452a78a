"""Policies: how the states of keys move between workers."""

from __future__ import annotations

from evenkey.simulation.policies.base import Observed, Policy, parse_policy
from evenkey.simulation.policies.by_hash import ByHash
from evenkey.simulation.policies.by_mean import ByMean
from evenkey.simulation.policies.by_moves import ByMoves
from evenkey.simulation.policies.by_restart import ByRestart

__all__ = ["ByHash", "ByMean", "ByMoves", "ByRestart", "Observed", "Policy", "parse_policy"]
