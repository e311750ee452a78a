"""Conformance checks for groupings and aggregators, both evenkey's own and those of users."""

from __future__ import annotations

from evenkey.checks.aggregators import sample_messages as sample_messages
from evenkey.checks.aggregators import yield_aggregator_checks
from evenkey.checks.groupings import yield_checks

__all__ = [
    "yield_aggregator_checks",
    "yield_checks",
]
