"""Approximate histograms that merge."""

from __future__ import annotations

from evenkey.core.sketches.histograms.bins import Bins, check_capacity, check_values
from evenkey.core.sketches.histograms.histogram import ApproximateHistogram

__all__ = ["ApproximateHistogram", "Bins", "check_capacity", "check_values"]
