"""The pipeline's plan: source, splitter, grouping, worker, aggregator, as one DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey.aggregators import parse as parse_aggregator
from evenkey.pipelines.aggregate.worker import PipelineWorker
from evenkey.runs.closing import closing_rows
from evenkey.spark.aggregate import (
    WORKER,
    group_columns,
    merge_partials,
    messages_of,
    partial_aggregates,
)
from evenkey.spark.place import place
from evenkey.spark.route import routed
from evenkey.spark.work import TIME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from evenkey.options import GroupingOptions
    from evenkey.pipelines.aggregate.config import PipelineConfig
    from evenkey.runs.directory import RunDirectory

__all__ = ["results", "routed_messages"]


def results(messages: DataFrame, config: PipelineConfig, directory: RunDirectory) -> DataFrame:
    """Plan the results of a stream of messages.

    Parameters
    ----------
    messages
        Streaming, with the columns ``position``, ``key``, ``count`` and ``time``, and the worker
        if they are routed already.
    config
        What to do with them.
    directory
        Where routing tables, the workers' counts and the sign to close the windows lie.

    Returns
    -------
    DataFrame
        Streaming: a window's results appear when the watermark has passed it, or when the
        closing file exists.
    """
    placeable = messages
    if WORKER not in messages.columns:
        placeable = routed_messages(messages, config, directory)
    aggregator = parse_aggregator(config.aggregator)
    held, bound = messages_of(
        placeable,
        "key",
        aggregator,
        time="time",
        window=_length(config.worker_window),
        weight="count" if "weights" in (config.route_by, config.observe_by) else None,
    )
    by = group_columns(bound, windowed=True)
    worker = PipelineWorker(bound, by, directory.files, config.cost_seconds)
    partials = partial_aggregates(place(held, config.workers, column=WORKER), worker)
    closing = closing_rows(messages.sparkSession, directory.closing)
    nulls = [
        F.lit(None).cast(field.dataType).alias(field.name)
        for field in partials.schema
        if field.name != TIME
    ]
    closed = partials.unionByName(closing.select(F.col("time").alias(TIME), *nulls))
    merged = merge_partials(
        closed,
        bound,
        window=_length(config.aggregator_window),
        watermark=_length(config.lateness),
    )
    # Files and topics have plain columns, which any reader takes.
    bounds = [F.col(f"window.{end}").alias(f"window_{end}") for end in ("start", "end")]
    return merged.select(*bounds, *(name for name in merged.columns if name != "window"))


def routed_messages(
    messages: DataFrame, config: GroupingOptions, directory: RunDirectory
) -> DataFrame:
    """Add the worker of each message, by the run's own routing tables.

    Parameters
    ----------
    messages
        Streaming, with the columns ``position``, ``key`` and ``time``.
    config, directory
        Of the run.
    """
    return routed(
        messages,
        "key",
        config.resolved_grouping(),
        config.workers,
        time="time",
        load=config.load,
        state=directory.tables,
        column=WORKER,
        position="position",
        learn=False,
    )


def _length(seconds: float) -> str:
    return f"{round(seconds * 1_000_000)} microseconds"
