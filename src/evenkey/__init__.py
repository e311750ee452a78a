"""evenkey keeps keyed stream processing on Apache Spark even when keys are skewed.

>>> import evenkey as ek
>>> str(ek.PartialKey(choices=3))
'pkg(choices=3)'

The operators on Spark DataFrames are in `evenkey.spark`, pipelines in `evenkey.pipelines.aggregate`.
"""

from __future__ import annotations

from evenkey.aggregators import Aggregator, Count, Fold, HeavyHitters, Mean, Sum, Tally, TopK
from evenkey.errors import ConfigurationError, EvenkeyError, RunError
from evenkey.groupings import (
    DynamicKey,
    Grouping,
    Key,
    PartialKey,
    Planned,
    Router,
    Shuffle,
)

__all__ = [
    "Aggregator",
    "ConfigurationError",
    "Count",
    "DynamicKey",
    "EvenkeyError",
    "Fold",
    "Grouping",
    "HeavyHitters",
    "Key",
    "Mean",
    "PartialKey",
    "Planned",
    "Router",
    "RunError",
    "Shuffle",
    "Sum",
    "Tally",
    "TopK",
    "__version__",
]

__version__ = "0.1.0"
