"""Calls of PySpark's that shuffle by key: intercept them, and give each a stable fingerprint."""

from __future__ import annotations

from evenkey.spark.intercepted.describing import (
    SQL_JOIN,
    WINDOW,
    describe,
    remember_rerouted,
)
from evenkey.spark.intercepted.intercepted_call import Described, InterceptedCall
from evenkey.spark.intercepted.moved_inputs import keeps_order
from evenkey.spark.intercepted.replaced_methods import Interception
from evenkey.spark.intercepted.wanted_nodes import WantedNodes

__all__ = [
    "SQL_JOIN",
    "WINDOW",
    "Described",
    "InterceptedCall",
    "Interception",
    "WantedNodes",
    "describe",
    "keeps_order",
    "remember_rerouted",
]
