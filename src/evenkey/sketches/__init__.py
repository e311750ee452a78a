"""Sketches: summaries of a stream in constant space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.doors import late
from evenkey.sketches.histograms import ApproximateHistogram
from evenkey.sketches.space_saving import Counters, SpaceSaving

if TYPE_CHECKING:
    from evenkey.sketches.histograms import Bins as Bins
    from evenkey.sketches.histograms import check_capacity as check_capacity
    from evenkey.sketches.histograms import check_values as check_values

__all__ = ["ApproximateHistogram", "Counters", "SpaceSaving"]

__getattr__ = late(
    __name__,
    {
        "Bins": "evenkey.sketches.histograms",
        "check_capacity": "evenkey.sketches.histograms",
        "check_values": "evenkey.sketches.histograms",
    },
)
