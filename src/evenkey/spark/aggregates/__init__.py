"""Aggregate by key: workers compute partial aggregates, and Spark merges them."""

from __future__ import annotations

from evenkey.spark.aggregates.aggregation import check_windows, merge_partials
from evenkey.spark.aggregates.partial import worked
from evenkey.spark.aggregates.partial_task import TIME, WEIGHT, WorkerTask

__all__ = [
    "TIME",
    "WEIGHT",
    "WorkerTask",
    "check_windows",
    "merge_partials",
    "worked",
]
