"""Calls of PySpark's that shuffle by key: intercept them, and give each a stable fingerprint."""

from __future__ import annotations

from evenkey.spark.intercepted.describing import Described, describe, remember_rerouted
from evenkey.spark.intercepted.intercepted_call import InterceptedCall
from evenkey.spark.intercepted.replaced_methods import Interception

__all__ = ["Described", "InterceptedCall", "Interception", "describe", "remember_rerouted"]
