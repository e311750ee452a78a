"""The aggregators of the package. `evenkey` offers each of them to users."""

from __future__ import annotations

from evenkey.aggregators.count import Count
from evenkey.aggregators.heavy_hitters import HeavyHitters
from evenkey.aggregators.histogram import Histogram
from evenkey.aggregators.mean import Mean
from evenkey.aggregators.sum import Sum
from evenkey.aggregators.tally import Tally
from evenkey.aggregators.top_k import TopK

__all__ = ["Count", "HeavyHitters", "Histogram", "Mean", "Sum", "Tally", "TopK"]
