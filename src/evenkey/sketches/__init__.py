"""Sketches: summaries of a stream in constant space."""

from __future__ import annotations

from evenkey.sketches.histograms import ApproximateHistogram
from evenkey.sketches.space_saving import Counters, SpaceSaving

__all__ = ["ApproximateHistogram", "Counters", "SpaceSaving"]
