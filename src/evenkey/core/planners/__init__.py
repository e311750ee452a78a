"""Planners: functions that move partitions between workers, from the loads of partitions."""

from __future__ import annotations

from evenkey.core.planners.partition_moves import SLACK, SLACK_OF_SECONDS, moved
from evenkey.core.planners.rebalancing import GOOD_ENOUGH, Planner, greedy, load_per_location

__all__ = [
    "GOOD_ENOUGH",
    "SLACK",
    "SLACK_OF_SECONDS",
    "Planner",
    "greedy",
    "load_per_location",
    "moved",
]
