"""The options of a pipeline, before they are checked as a whole."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator

from evenkey.aggregators import parse as parse_aggregator
from evenkey.groupings import By
from evenkey.options import (
    MOST_TASKS,
    AnyPath,
    Configuration,
    KafkaOptions,
    KeyedOptions,
    option,
)

__all__ = ["AggregationOptions", "PipelineOptions", "Sink"]

Sink = Literal["parquet", "jsonl", "console", "memory", "kafka"]

_MOST_AHEAD = 1e11
"""Seconds: what can be added to a timestamp of Spark's."""


class AggregationOptions(Configuration):
    """What messages are, and what is computed of them; a part of other configurations."""

    key: str | None = option(
        "Input",
        None,
        "Column or field with the key, for csv, json and parquet.",
        min_length=1,
        first=True,
    )
    count: str | None = option(
        "Input",
        None,
        "Column or field with a message's weight, for csv, json and parquet; else 1.",
        min_length=1,
        first=True,
    )
    splitters: int | None = option(
        "Grouping",
        None,
        "Tasks that split and route; without it as many as sources, with no shuffle between.",
        ge=1,
        le=MOST_TASKS,
    )
    route_by: By = option(
        "Grouping",
        "messages",
        "What a message counts for where it is routed: 1, or its weight.",
    )
    observe_by: By = option(
        "Grouping",
        "messages",
        "What a message counts for in the loads that are reported: 1, or its weight.",
    )
    aggregator: Annotated[str, AfterValidator(lambda text: str(parse_aggregator(text)))] = option(
        "Work",
        "count",
        "What is computed: count, sum(column=count), mean(column=count), top-k(k=10).",
        first=True,
    )
    worker_window: float = option(
        "Work", 15.0, "Window of a worker's partial results, in seconds of event time.", gt=0
    )
    aggregator_window: float = option(
        "Work",
        60.0,
        "Window of the results, in seconds: a multiple of the worker window.",
        gt=0,
        first=True,
    )
    lateness: float = option(
        "Work",
        0.0,
        "Seconds of event time that messages may come late, and results wait for them; from "
        "Kafka 60, as partitions are not read in step.",
        ge=0,
    )
    max_ahead: float = option(
        "Kafka",
        3600.0,
        "Seconds that a record's time may be ahead of the clock when its epoch begins; one further "
        "ahead is a dead letter. A large number lets all in.",
        ge=0,
        le=_MOST_AHEAD,
    )
    avro_schema: AnyPath | None = option(
        "Kafka",
        None,
        "File with the Avro schema of the records; they are split as JSON objects of its fields.",
    )
    sink: Sink = option(
        "Output",
        "memory",
        "Where results go; where there is an output, parquet unless it is given.",
    )


class PipelineOptions(KeyedOptions, KafkaOptions, AggregationOptions):
    """All options of a pipeline; what is made of them is a `PipelineConfig`."""
