"""Operators on Spark DataFrames, batch, streaming and real time: groupBy, join, over, asof_join.

Examples of this module begin with these lines::

    from evenkey.spark import *

    spark = session()

The first argument of each operator is a DataFrame, so ``df.transform`` can chain operators::

    routed = df.transform(route, "key", workers=8).transform(place, 8)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.lazy import lazy_names

if TYPE_CHECKING:
    from evenkey.spark.aggregates.aggregation import aggregate
    from evenkey.spark.aggregates.by_worker import aggregate_by_worker
    from evenkey.spark.aggregates.merge_parts import merge_workers
    from evenkey.spark.asof import asof_join
    from evenkey.spark.balancing import balanced
    from evenkey.spark.balancing.profiled_sessions import profiled_sessions as profiled_sessions
    from evenkey.spark.explaining import explain
    from evenkey.spark.groups import Grouped, fit, groupBy
    from evenkey.spark.joins import join
    from evenkey.spark.keys.event_times import rows_far_ahead
    from evenkey.spark.keys.explanation import Explanation
    from evenkey.spark.plans.places import store_of
    from evenkey.spark.plans.tables import RoutingTable as RoutingTable
    from evenkey.spark.plans.tables import RoutingTables as RoutingTables
    from evenkey.spark.rebalancing import rebalance
    from evenkey.spark.recording import record
    from evenkey.spark.routing.add_worker import route
    from evenkey.spark.routing.for_files import partition_for_write
    from evenkey.spark.routing.loads import LoadObserver, observe
    from evenkey.spark.routing.real_time import REAL_TIME_SETTINGS
    from evenkey.spark.routing.to_workers import place
    from evenkey.spark.sessions.starting import session
    from evenkey.spark.states import stateful
    from evenkey.spark.windows import over

__all__ = [
    "REAL_TIME_SETTINGS",
    "Explanation",
    "Grouped",
    "LoadObserver",
    "aggregate",
    "aggregate_by_worker",
    "asof_join",
    "balanced",
    "explain",
    "fit",
    "groupBy",
    "join",
    "merge_workers",
    "observe",
    "over",
    "partition_for_write",
    "place",
    "rebalance",
    "record",
    "route",
    "rows_far_ahead",
    "session",
    "stateful",
    "store_of",
]

__getattr__ = lazy_names(__name__)


def __dir__() -> list[str]:
    """Return the names that an interactive session completes, also before their first use."""
    return sorted({*globals(), *__all__})
