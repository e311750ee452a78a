"""The groupings of the package. `evenkey` offers each of them to users."""

from __future__ import annotations

from evenkey.groupings.dynamic_key import DynamicKeyGrouping
from evenkey.groupings.heads import DChoices, WChoices
from evenkey.groupings.key import KeyGrouping
from evenkey.groupings.partial_key import PartialKeyGrouping
from evenkey.groupings.planned import PlannedGrouping
from evenkey.groupings.shuffle import ShuffleGrouping
from evenkey.groupings.tables import (
    CardinalityAffinity,
    OfflineGreedy,
    OnlineGreedy,
    StaticChoices,
)

__all__ = [
    "CardinalityAffinity",
    "DChoices",
    "DynamicKeyGrouping",
    "KeyGrouping",
    "OfflineGreedy",
    "OnlineGreedy",
    "PartialKeyGrouping",
    "PlannedGrouping",
    "ShuffleGrouping",
    "StaticChoices",
    "WChoices",
]
