"""Conformance checks, for evenkey's own groupings and aggregators and for those of users."""

from __future__ import annotations

from evenkey.checks.groupings import yield_checks

__all__ = ["yield_checks"]
