"""evenkey balances keyed work on Apache Spark when keys are skewed.

>>> import evenkey as ek
>>> str(ek.Sum("amount"))
'sum(column=amount)'

This module has what most programs need: runs of the pipeline (`run`, `compare`, `PipelineConfig`,
`read_results`), the simulator (`simulate`), advice (`advise`), diagnosis (`diagnose`), and the
usual aggregators. The other public modules are `evenkey.spark` (operators on DataFrames),
`evenkey.groupings`, `evenkey.aggregators`, `evenkey.joins`, `evenkey.applications`,
`evenkey.kafka` and `evenkey.checks`. Everything else may change without notice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError, EvenkeyError, RunError
from evenkey.core.lazy import lazy_names

if TYPE_CHECKING:
    from evenkey.aggregators import Count, Mean, Sum, fold
    from evenkey.applications import run
    from evenkey.core.streams import generated
    from evenkey.pipeline.aggregate import PipelineConfig, RunReport, compare
    from evenkey.pipeline.runs import read_results
    from evenkey.reports.advice import Advice, advise
    from evenkey.reports.diagnosis import Diagnosis, diagnose
    from evenkey.simulation import simulate

__all__ = [
    "Advice",
    "ConfigurationError",
    "Count",
    "Diagnosis",
    "EvenkeyError",
    "Mean",
    "PipelineConfig",
    "RunError",
    "RunReport",
    "Sum",
    "__version__",
    "advise",
    "compare",
    "diagnose",
    "fold",
    "generated",
    "read_results",
    "run",
    "simulate",
]

__version__ = "0.1.0"
"""Version of the package.

>>> __version__.count(".")
2
"""

__getattr__ = lazy_names(__name__)
