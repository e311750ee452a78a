"""Calls of PySpark's that shuffle by key: intercept them, and give each a stable fingerprint."""

from __future__ import annotations

from evenkey.spark.intercepted.describing import SQL_JOIN, describe, remember_rerouted
from evenkey.spark.intercepted.intercepted_call import Described, InterceptedCall
from evenkey.spark.intercepted.joins_in_texts import SqlJoins
from evenkey.spark.intercepted.moved_inputs import keeps_order
from evenkey.spark.intercepted.replaced_methods import Interception

__all__ = [
    "SQL_JOIN",
    "Described",
    "InterceptedCall",
    "Interception",
    "SqlJoins",
    "describe",
    "keeps_order",
    "remember_rerouted",
]
