"""evenkey keeps keyed stream processing on Apache Spark even when keys are skewed.

>>> import evenkey as ek
>>> str(ek.PartialKeyGrouping(choices=3))
'pkg(choices=3)'

Here are groupings, aggregators, runs of the pipeline (`run`, `compare`, `PipelineConfig`), the
simulator (`simulate`), advice (`advise`) and diagnosis (`diagnose`). The other public modules:
`evenkey.spark`, operators on DataFrames; `evenkey.joins`; `evenkey.applications`;
`evenkey.kafka`; `evenkey.checks`. All that a user needs is in one of these; what lies further in
may change without notice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.aggregators import Aggregator, Algebraic, Fold, fold, number_groups, reduce_groups
from evenkey.aggregators import catalogue as _aggregators
from evenkey.aggregators.catalogue import *  # noqa: F403 - it lists what it offers
from evenkey.core.errors import ConfigurationError, EvenkeyError, RunError
from evenkey.core.lazy import lazy_names
from evenkey.groupings import Grouping, Router
from evenkey.groupings import catalogue as _groupings
from evenkey.groupings.catalogue import *  # noqa: F403 - it lists what it offers

if TYPE_CHECKING:
    from evenkey.core.sketches import ApproximateHistogram, SpaceSaving
    from evenkey.core.streams import MessageStream, generated
    from evenkey.pipeline.aggregate import (
        PipelineConfig,
        RunReport,
        compare,
        run,
    )
    from evenkey.pipeline.runs import EpochProgress, read_results
    from evenkey.reports.advice import Advice, Sample, Setting, advise
    from evenkey.reports.diagnosis import Diagnosis, Thresholds, diagnose
    from evenkey.simulation import SimulationReport, simulate

__all__ = [
    "Advice",
    "Aggregator",
    "Algebraic",
    "ApproximateHistogram",
    "ConfigurationError",
    "Diagnosis",
    "EpochProgress",
    "EvenkeyError",
    "Fold",
    "Grouping",
    "MessageStream",
    "PipelineConfig",
    "Router",
    "RunError",
    "RunReport",
    "Sample",
    "Setting",
    "SimulationReport",
    "SpaceSaving",
    "Thresholds",
    "__version__",
    "advise",
    "compare",
    "diagnose",
    "fold",
    "generated",
    "number_groups",
    "read_results",
    "reduce_groups",
    "run",
    "simulate",
]
__all__ += _aggregators.__all__ + _groupings.__all__

__version__ = "0.1.0"
"""Version of the package.

>>> __version__.count(".")
2
"""

__getattr__ = lazy_names(__name__)
