"""Stream-static joins that stay balanced: by key or by space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.doors import late
from evenkey.joins.balanced import balanced_join
from evenkey.joins.dead_letters import DeadLetters
from evenkey.joins.distributor import DynamicDistributor
from evenkey.joins.modes import MODES, Mode
from evenkey.joins.on import SpatialMatch
from evenkey.joins.slots import CLUSTER_SETTINGS
from evenkey.joins.static_side import refresh
from evenkey.joins.static_store import StaticStore

if TYPE_CHECKING:
    from evenkey.joins.dead_letters import DEAD_LETTERS as DEAD_LETTERS
    from evenkey.joins.dead_letters import STATIC_DEAD_LETTERS as STATIC_DEAD_LETTERS
    from evenkey.joins.epoch_log import EpochLog as EpochLog
    from evenkey.joins.epoch_log import EpochPlan as EpochPlan
    from evenkey.joins.epoch_log import SlotRecord as SlotRecord
    from evenkey.joins.epoch_log import work_of as work_of
    from evenkey.joins.geometry import vet as vet
    from evenkey.joins.pairs import PairsDigest as PairsDigest
    from evenkey.joins.partitioners import Leaves as Leaves
    from evenkey.joins.reference import reference_digest as reference_digest
    from evenkey.joins.relations import RELATIONS as RELATIONS
    from evenkey.joins.slots import own_processes as own_processes
    from evenkey.joins.static_manifest import Manifest as Manifest
    from evenkey.joins.static_spreading import leaves_of as leaves_of
    from evenkey.joins.static_writing import write_static as write_static
    from evenkey.joins.work import items as items
    from evenkey.joins.work import load_per_location as load_per_location
    from evenkey.joins.work import seconds as seconds

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

__getattr__ = late(__name__)
