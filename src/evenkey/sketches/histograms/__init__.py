"""Approximate histograms that merge."""

from __future__ import annotations

from evenkey.sketches.histograms.bins import Bins, check_capacity, check_values
from evenkey.sketches.histograms.histogram import Histogram

__all__ = ["Bins", "Histogram", "check_capacity", "check_values"]
