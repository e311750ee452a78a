"""Operators on Spark DataFrames, batch and streaming: route, place, aggregate, observe.

Each takes a DataFrame first, so that it goes into a chain by ``df.transform``::

    routed = df.transform(route, "key", workers=8).transform(place, 8)
"""

from __future__ import annotations

from evenkey.spark.aggregate import aggregate
from evenkey.spark.observe import EpochLoads, LoadObserver, observe
from evenkey.spark.place import place
from evenkey.spark.planned import fit
from evenkey.spark.route import Load, route
from evenkey.spark.routing_table import RoutingTable, RoutingTables
from evenkey.spark.sessions import session
from evenkey.spark.times import rows_far_ahead

__all__ = [
    "EpochLoads",
    "Load",
    "LoadObserver",
    "RoutingTable",
    "RoutingTables",
    "aggregate",
    "fit",
    "observe",
    "place",
    "route",
    "rows_far_ahead",
    "session",
]
