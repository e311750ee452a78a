"""Joins of a stream with a static table, by key or by space, whose workers stay balanced.

Examples of this module begin with these lines::

    from evenkey.joins import *
    from evenkey.spark import session

    spark = session()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.lazy import lazy_names
from evenkey.joins.balance.distributor import DynamicDistributor
from evenkey.joins.balance.modes import Mode as Mode
from evenkey.joins.matching.on import SpatialMatch
from evenkey.joins.sides.static_side import refresh
from evenkey.joins.static.dead_letters import DeadLetters as DeadLetters
from evenkey.joins.static.static_store import StaticStore as StaticStore
from evenkey.joins.stream_static_join import balanced_join
from evenkey.joins.tasks.cluster_settings import CLUSTER_SETTINGS

if TYPE_CHECKING:
    from evenkey.joins.balance.epoch_log import EpochLog as EpochLog
    from evenkey.joins.matching.partition_join import PartitionJoin as PartitionJoin
    from evenkey.joins.sides.division import leaves_of as leaves_of
    from evenkey.joins.sides.writing import write_static as write_static
    from evenkey.joins.space.geometry import vet as vet
    from evenkey.joins.space.pairs import PairsDigest as PairsDigest
    from evenkey.joins.space.partitioners import Leaves as Leaves
    from evenkey.joins.space.reference import reference_digest as reference_digest
    from evenkey.joins.space.relations import RELATIONS as RELATIONS
    from evenkey.joins.static.dead_letters import KINDS_OF_DEAD_LETTERS as KINDS_OF_DEAD_LETTERS
    from evenkey.spark.slots import own_processes as own_processes

__all__ = [
    "CLUSTER_SETTINGS",
    "DynamicDistributor",
    "SpatialMatch",
    "balanced_join",
    "refresh",
]

__getattr__ = lazy_names(__name__)
