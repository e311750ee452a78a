"""Aggregate a stream by window and key: read, split, route, aggregate on workers, merge, write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.lazy import lazy_names
from evenkey.pipeline.aggregate.config import PipelineConfig

if TYPE_CHECKING:
    from evenkey.pipeline.aggregate.aggregate_job import AggregateJob as AggregateJob
    from evenkey.pipeline.aggregate.aggregate_job import warm_up as warm_up
    from evenkey.pipeline.aggregate.dataflow import routed_messages as routed_messages
    from evenkey.pipeline.aggregate.grouping_comparison import compare
    from evenkey.pipeline.aggregate.keyed import KeyedWork as KeyedWork
    from evenkey.pipeline.aggregate.keyed import keyed_session as keyed_session
    from evenkey.pipeline.aggregate.messages.streams import opened_records as opened_records
    from evenkey.pipeline.aggregate.messages.streams import opened_stream as opened_stream
    from evenkey.pipeline.aggregate.pipeline_options import PipelineOptions as PipelineOptions
    from evenkey.pipeline.aggregate.report import RunReport
    from evenkey.pipeline.aggregate.worker import PipelineWorker as PipelineWorker

__all__ = ["PipelineConfig", "RunReport", "compare"]

__getattr__ = lazy_names(__name__)
