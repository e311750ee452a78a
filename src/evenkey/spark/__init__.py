"""Operators on Spark DataFrames, batch, streaming and real time: groupBy, aggregate, join, route.

Each takes a DataFrame first, so that it goes into a chain by ``df.transform``::

    routed = df.transform(route, "key", workers=8).transform(place, 8)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.doors import late
from evenkey.spark.aggregating import aggregate
from evenkey.spark.by_worker import aggregate_by_worker
from evenkey.spark.grouped import Grouped, groupBy
from evenkey.spark.joining import JoinPlan, join, join_plan
from evenkey.spark.merging_workers import merge_workers
from evenkey.spark.observe import EpochLoads, LoadObserver, observe
from evenkey.spark.placing import place
from evenkey.spark.planned import fit
from evenkey.spark.real_time import REAL_TIME_SETTINGS
from evenkey.spark.routing import route
from evenkey.spark.routing_table import RoutingTable, RoutingTables
from evenkey.spark.routing_tasks import Load
from evenkey.spark.sessions import session
from evenkey.spark.state import store_of
from evenkey.spark.times import rows_far_ahead
from evenkey.spark.writing import partition_for_write

if TYPE_CHECKING:
    from evenkey.spark.aggregating import check_windows as check_windows
    from evenkey.spark.aggregating import merge_partials as merge_partials
    from evenkey.spark.any_names import NamedTask as NamedTask
    from evenkey.spark.any_names import with_plain_names as with_plain_names
    from evenkey.spark.columns import absent as absent
    from evenkey.spark.columns import check_frame as check_frame
    from evenkey.spark.columns import column_names as column_names
    from evenkey.spark.columns import find_columns as find_columns
    from evenkey.spark.columns import key_columns as key_columns
    from evenkey.spark.columns import quoted as quoted
    from evenkey.spark.columns import same_name as same_name
    from evenkey.spark.columns import time_column as time_column
    from evenkey.spark.columns import windowed_column as windowed_column
    from evenkey.spark.contents import hashed_parts as hashed_parts
    from evenkey.spark.exact import OVERFLOWS as OVERFLOWS
    from evenkey.spark.gateway import ending_unlogged as ending_unlogged
    from evenkey.spark.gateway import java_deaths_named as java_deaths_named
    from evenkey.spark.keys import check_names as check_names
    from evenkey.spark.keys import one_key as one_key
    from evenkey.spark.keys import with_keys as with_keys
    from evenkey.spark.packed_plan import pack_places as pack_places
    from evenkey.spark.places import check_state as check_state
    from evenkey.spark.plan_lookup import dealt_by_number as dealt_by_number
    from evenkey.spark.routing import routed as routed
    from evenkey.spark.routing import routes_natively as routes_natively
    from evenkey.spark.routing_tasks import RoutingTask as RoutingTask
    from evenkey.spark.routing_tasks import routing_task as routing_task
    from evenkey.spark.session_kinds import change_session as change_session
    from evenkey.spark.sessions import local_master as local_master
    from evenkey.spark.sessions import temporary_directory as temporary_directory
    from evenkey.spark.state_access import at_state as at_state
    from evenkey.spark.state_access import is_remote as is_remote
    from evenkey.spark.task import BATCH as BATCH
    from evenkey.spark.task import TaskId as TaskId
    from evenkey.spark.task import current_epoch as current_epoch
    from evenkey.spark.task import current_task as current_task
    from evenkey.spark.task import within_query as within_query
    from evenkey.spark.times import FAR_AHEAD as FAR_AHEAD
    from evenkey.spark.times import far_ahead as far_ahead
    from evenkey.spark.times import seconds_of as seconds_of
    from evenkey.spark.times import without_far_ahead as without_far_ahead
    from evenkey.spark.versions import check_sources as check_sources
    from evenkey.spark.versions import from_arrow_schema as from_arrow_schema
    from evenkey.spark.versions import from_arrow_type as from_arrow_type
    from evenkey.spark.versions import to_arrow_schema as to_arrow_schema
    from evenkey.spark.work import TIME as TIME
    from evenkey.spark.work import WEIGHT as WEIGHT
    from evenkey.spark.work import WorkerTask as WorkerTask
    from evenkey.spark.workers import in_workers as in_workers
    from evenkey.spark.working import worked as worked

__all__ = [
    "REAL_TIME_SETTINGS",
    "EpochLoads",
    "Grouped",
    "JoinPlan",
    "Load",
    "LoadObserver",
    "RoutingTable",
    "RoutingTables",
    "aggregate",
    "aggregate_by_worker",
    "fit",
    "groupBy",
    "join",
    "join_plan",
    "merge_workers",
    "observe",
    "partition_for_write",
    "place",
    "route",
    "rows_far_ahead",
    "session",
    "store_of",
]

__getattr__ = late(
    __name__,
    {
        "BATCH": "evenkey.spark.task",
        "NamedTask": "evenkey.spark.any_names",
        "with_plain_names": "evenkey.spark.any_names",
        "FAR_AHEAD": "evenkey.spark.times",
        "OVERFLOWS": "evenkey.spark.exact",
        "RoutingTask": "evenkey.spark.routing_tasks",
        "TIME": "evenkey.spark.work",
        "TaskId": "evenkey.spark.task",
        "WEIGHT": "evenkey.spark.work",
        "WorkerTask": "evenkey.spark.work",
        "absent": "evenkey.spark.columns",
        "at_state": "evenkey.spark.state_access",
        "change_session": "evenkey.spark.session_kinds",
        "check_frame": "evenkey.spark.columns",
        "check_names": "evenkey.spark.keys",
        "check_windows": "evenkey.spark.aggregating",
        "check_state": "evenkey.spark.places",
        "column_names": "evenkey.spark.columns",
        "current_epoch": "evenkey.spark.task",
        "current_task": "evenkey.spark.task",
        "dealt_by_number": "evenkey.spark.plan_lookup",
        "ending_unlogged": "evenkey.spark.gateway",
        "far_ahead": "evenkey.spark.times",
        "find_columns": "evenkey.spark.columns",
        "hashed_parts": "evenkey.spark.contents",
        "in_workers": "evenkey.spark.workers",
        "is_remote": "evenkey.spark.state_access",
        "java_deaths_named": "evenkey.spark.gateway",
        "key_columns": "evenkey.spark.columns",
        "local_master": "evenkey.spark.sessions",
        "merge_partials": "evenkey.spark.aggregating",
        "one_key": "evenkey.spark.keys",
        "pack_places": "evenkey.spark.packed_plan",
        "worked": "evenkey.spark.working",
        "quoted": "evenkey.spark.columns",
        "routed": "evenkey.spark.routing",
        "routes_natively": "evenkey.spark.routing",
        "routing_task": "evenkey.spark.routing_tasks",
        "same_name": "evenkey.spark.columns",
        "seconds_of": "evenkey.spark.times",
        "temporary_directory": "evenkey.spark.sessions",
        "time_column": "evenkey.spark.columns",
        "check_sources": "evenkey.spark.versions",
        "from_arrow_schema": "evenkey.spark.versions",
        "from_arrow_type": "evenkey.spark.versions",
        "to_arrow_schema": "evenkey.spark.versions",
        "windowed_column": "evenkey.spark.columns",
        "with_keys": "evenkey.spark.keys",
        "within_query": "evenkey.spark.task",
        "without_far_ahead": "evenkey.spark.times",
    },
)
