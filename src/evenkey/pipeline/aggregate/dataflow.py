"""The dataflow of a pipeline as one DataFrame: source, splitter, grouping, worker, aggregator."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey.aggregators import WORKER
from evenkey.aggregators import parse as parse_aggregator
from evenkey.pipeline.aggregate.messages.own_columns import Own, with_own_keys
from evenkey.pipeline.aggregate.worker import PipelineWorker
from evenkey.pipeline.runs import closing_rows
from evenkey.spark.aggregates import TIME, merge_partials, worked
from evenkey.spark.routing import routed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from evenkey.aggregators import Aggregator
    from evenkey.pipeline.aggregate.config import PipelineConfig
    from evenkey.pipeline.options import GroupingOptions
    from evenkey.pipeline.runs import RunDirectory

_MOMENT = "__moment"
_WEIGHT = "__weight_of"
_OPEN = "__open"
"""Watermark column of runs in which nothing is late. All rows before the closing row have the same
value, so no window closes before the closing row arrives."""
_OPEN_SECONDS = 946_684_800
"""Value of the column `_OPEN` in all rows before the closing row: the year 2000, which is later
than the first watermark (1970) and earlier than the closing row."""


def results(messages: DataFrame, config: PipelineConfig, directory: RunDirectory) -> DataFrame:
    """Build the streaming query that computes the results of messages.

    Parameters
    ----------
    messages
        Streaming DataFrame with the columns that `Input` describes.
    config
        The configuration of the pipeline.
    directory
        Directory of the run, with the routing tables, the workers' counts and the file that closes
        the windows.

    Returns
    -------
    DataFrame
        Streaming results. The results of a window appear when the watermark has passed the window,
        or when the closing file exists. If `lateness` is None, rows may come in any order and no
        row is late. Then all results appear at the end of the run, and until then Spark's state
        has a row for each window and key.
    """
    placeable = messages
    if WORKER not in messages.columns:
        placeable = routed_messages(messages, config, directory)
    aggregator = parse_aggregator(config.aggregator)
    weighted = "weights" in (config.route_by, config.observe_by)
    partials, bound = worked(
        _named(placeable, config, aggregator),
        "key",
        aggregator,
        config.workers,
        partial(PipelineWorker, files=directory.files, cost_seconds=config.cost_seconds),
        time=_MOMENT,
        window=_length(config.worker_window),
        weight=_WEIGHT if weighted else None,
    )
    closing = closing_rows(messages.sparkSession, directory.closing)
    ended = {TIME: F.col("time")}
    if config.lateness is None:
        partials = partials.withColumn(_OPEN, F.timestamp_seconds(F.lit(_OPEN_SECONDS)))
        ended[_OPEN] = F.col("time")
    nulls = {
        field.name: F.lit(None).cast(field.dataType)
        for field in partials.schema
        if field.name not in ended
    }
    closed = partials.unionByName(
        closing.select(*(column.alias(name) for name, column in {**ended, **nulls}.items()))
    )
    merged = merge_partials(
        closed,
        bound,
        window=_length(config.aggregator_window),
        watermark=_length(1.0 if config.lateness is None else config.lateness),
        clock=_OPEN if config.lateness is None else None,
    )
    # Replace the struct `window` by two columns, which any reader of files and topics accepts.
    bounds = [F.col(f"window.{end}").alias(f"window_{end}") for end in ("start", "end")]
    flat = merged.select(*bounds, *(name for name in merged.columns if name != "window"))
    return with_own_keys(flat, messages, config)


def _named(routed: DataFrame, config: PipelineConfig, aggregator: Aggregator) -> DataFrame:
    """Select the columns to aggregate, under names that differ from the user's columns."""
    own = Own.of(routed, config)
    chosen = {"key": F.col("key"), _MOMENT: own.time, _WEIGHT: F.col("count"), **own.values}
    if "count" in aggregator.columns and "count" not in own.values:
        chosen["count"] = F.col("count")
    chosen[WORKER] = F.col(WORKER)
    return routed.select(*(column.alias(name) for name, column in chosen.items()))


def routed_messages(
    messages: DataFrame, config: GroupingOptions, directory: RunDirectory
) -> DataFrame:
    """Add a column with the worker of each message, chosen by the run's routing tables.

    Parameters
    ----------
    messages
        Streaming DataFrame with the columns ``position``, ``key`` and ``time``.
    config, directory
        Configuration and directory of the run.
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
        spread=True,
    )


def _length(seconds: float) -> str:
    return f"{round(seconds * 1_000_000)} microseconds"
