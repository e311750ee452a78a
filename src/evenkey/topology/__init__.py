"""A running pipeline: sources, splitters, grouping, workers, aggregator, sink, observer."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from evenkey.topology.config import PipelineConfig

if TYPE_CHECKING:
    from evenkey.topology.report import EpochProgress, RunReport
    from evenkey.topology.results import read_results
    from evenkey.topology.runner import compare, run

__all__ = ["EpochProgress", "PipelineConfig", "RunReport", "compare", "read_results", "run"]

_HOMES = {
    "EpochProgress": "report",
    "RunReport": "report",
    "compare": "runner",
    "read_results": "results",
    "run": "runner",
}


def __getattr__(name: str) -> Any:
    # Configurations are made and checked, and help is shown, without Spark.
    if name in _HOMES:
        return getattr(importlib.import_module(f"evenkey.topology.{_HOMES[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
