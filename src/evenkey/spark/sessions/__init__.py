"""Sessions: start Spark and its Java, prepare the workers' Python, and run code in tasks."""

from __future__ import annotations

from evenkey.spark.sessions.access import at_state, is_remote, returned
from evenkey.spark.sessions.java_process import ending_unlogged, java_deaths_named
from evenkey.spark.sessions.local_checkpoints import fewer_processes
from evenkey.spark.sessions.session_change import change_session
from evenkey.spark.sessions.starting import local_master, temporary_directory
from evenkey.spark.sessions.task_id import BATCH, TaskId, current_epoch, current_task, within_query
from evenkey.spark.sessions.task_slots import shuffle_partitions
from evenkey.spark.sessions.versions import (
    check_sources,
    from_arrow_schema,
    from_arrow_type,
    to_arrow_schema,
)
from evenkey.spark.sessions.worker_python import in_workers

__all__ = [
    "BATCH",
    "TaskId",
    "at_state",
    "change_session",
    "check_sources",
    "current_epoch",
    "current_task",
    "ending_unlogged",
    "fewer_processes",
    "from_arrow_schema",
    "from_arrow_type",
    "in_workers",
    "is_remote",
    "java_deaths_named",
    "local_master",
    "returned",
    "shuffle_partitions",
    "temporary_directory",
    "to_arrow_schema",
    "within_query",
]
