"""A running pipeline: sources, splitters, grouping, workers, aggregator, sink, observer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.doors import late
from evenkey.pipelines.aggregate.config import PipelineConfig

if TYPE_CHECKING:
    from evenkey.runs.report import EpochProgress, RunReport
    from evenkey.runs.results import read_results
    from evenkey.runs.runner import compare, run

__all__ = ["EpochProgress", "PipelineConfig", "RunReport", "compare", "read_results", "run"]

__getattr__ = late(
    __name__,
    {
        "EpochProgress": "evenkey.runs.report",
        "RunReport": "evenkey.runs.report",
        "compare": "evenkey.runs.runner",
        "read_results": "evenkey.runs.results",
        "run": "evenkey.runs.runner",
    },
)
