"""Aggregate by key: workers compute partial aggregates, and Spark merges them."""

from __future__ import annotations

from evenkey.spark.aggregates.merged_states import OVERFLOWS, check_names, merge_partials, with_keys
from evenkey.spark.aggregates.partial import worked
from evenkey.spark.aggregates.partial_task import TIME, WEIGHT, WorkerTask

__all__ = [
    "OVERFLOWS",
    "TIME",
    "WEIGHT",
    "WorkerTask",
    "check_names",
    "merge_partials",
    "with_keys",
    "worked",
]
