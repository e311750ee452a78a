"""Planners: functions that move partitions between workers, from the loads of partitions."""

from __future__ import annotations

from evenkey.core.planners.rebalancing import GOOD_ENOUGH, Planner, greedy, load_per_location

__all__ = ["GOOD_ENOUGH", "Planner", "greedy", "load_per_location"]
