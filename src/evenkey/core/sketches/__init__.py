"""Sketches: summaries of a stream in constant space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.lazy import lazy_names
from evenkey.core.sketches.histograms import ApproximateHistogram
from evenkey.core.sketches.space_saving import Counters, SpaceSaving

if TYPE_CHECKING:
    from evenkey.core.sketches.histograms import Bins as Bins
    from evenkey.core.sketches.histograms import check_capacity as check_capacity
    from evenkey.core.sketches.histograms import check_values as check_values

__all__ = ["ApproximateHistogram", "Counters", "SpaceSaving"]

__getattr__ = lazy_names(__name__)
