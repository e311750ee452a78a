"""evenkey keeps keyed stream processing on Apache Spark even when keys are skewed.

>>> import evenkey as ek
>>> str(ek.PartialKeyGrouping(choices=3))
'pkg(choices=3)'

The operators on Spark DataFrames are in `evenkey.spark`, joins in `evenkey.joins`, pipelines in
`evenkey.pipelines`.
"""

from __future__ import annotations

from evenkey.aggregators import Aggregator, Count, Fold, HeavyHitters, Mean, Sum, Tally, TopK
from evenkey.errors import ConfigurationError, EvenkeyError, RunError
from evenkey.groupings import (
    DynamicKeyGrouping,
    Grouping,
    KeyGrouping,
    PartialKeyGrouping,
    PlannedGrouping,
    Router,
    ShuffleGrouping,
)

__all__ = [
    "Aggregator",
    "ConfigurationError",
    "Count",
    "DynamicKeyGrouping",
    "EvenkeyError",
    "Fold",
    "Grouping",
    "HeavyHitters",
    "KeyGrouping",
    "Mean",
    "PartialKeyGrouping",
    "PlannedGrouping",
    "Router",
    "RunError",
    "ShuffleGrouping",
    "Sum",
    "Tally",
    "TopK",
    "__version__",
]

__version__ = "0.1.0"
