"""Approximate histograms that can be merged."""

from __future__ import annotations

from evenkey.core.sketches.histograms.approximate_histogram import ApproximateHistogram
from evenkey.core.sketches.histograms.bins import Bins, check_capacity, check_values

__all__ = ["ApproximateHistogram", "Bins", "check_capacity", "check_values"]
