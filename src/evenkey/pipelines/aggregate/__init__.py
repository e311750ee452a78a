"""Aggregate by window and key: sources, splitters, grouping, workers, merging, results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.doors import late
from evenkey.pipelines.aggregate.config import PipelineConfig

if TYPE_CHECKING:
    from evenkey.pipelines.aggregate.job import AggregateJob as AggregateJob
    from evenkey.pipelines.aggregate.job import warm_up as warm_up
    from evenkey.pipelines.aggregate.keyed import KeyedWork as KeyedWork
    from evenkey.pipelines.aggregate.keyed import keyed_session as keyed_session
    from evenkey.pipelines.aggregate.options import PipelineOptions as PipelineOptions
    from evenkey.pipelines.aggregate.plan import routed_messages as routed_messages
    from evenkey.pipelines.aggregate.report import RunReport
    from evenkey.pipelines.aggregate.runner import compare, run
    from evenkey.pipelines.aggregate.streams import opened_records as opened_records
    from evenkey.pipelines.aggregate.streams import opened_stream as opened_stream
    from evenkey.pipelines.aggregate.worker import PipelineWorker as PipelineWorker

__all__ = ["PipelineConfig", "RunReport", "compare", "run"]

__getattr__ = late(
    __name__,
    {
        "AggregateJob": "evenkey.pipelines.aggregate.job",
        "KeyedWork": "evenkey.pipelines.aggregate.keyed",
        "PipelineOptions": "evenkey.pipelines.aggregate.options",
        "PipelineWorker": "evenkey.pipelines.aggregate.worker",
        "keyed_session": "evenkey.pipelines.aggregate.keyed",
        "opened_records": "evenkey.pipelines.aggregate.streams",
        "opened_stream": "evenkey.pipelines.aggregate.streams",
        "routed_messages": "evenkey.pipelines.aggregate.plan",
        "warm_up": "evenkey.pipelines.aggregate.job",
        "RunReport": "evenkey.pipelines.aggregate.report",
        "compare": "evenkey.pipelines.aggregate.runner",
        "run": "evenkey.pipelines.aggregate.runner",
    },
)
