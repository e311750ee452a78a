"""Aggregate by window and key: sources, splitters, grouping, workers, merging, results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.doors import late
from evenkey.pipelines.aggregate.config import PipelineConfig

if TYPE_CHECKING:
    from evenkey.pipelines.aggregate.report import RunReport
    from evenkey.pipelines.aggregate.runner import compare, run

__all__ = ["PipelineConfig", "RunReport", "compare", "run"]

__getattr__ = late(
    __name__,
    {
        "RunReport": "evenkey.pipelines.aggregate.report",
        "compare": "evenkey.pipelines.aggregate.runner",
        "run": "evenkey.pipelines.aggregate.runner",
    },
)
