"""The options of a pipeline, before they are checked as a whole."""

from __future__ import annotations

from typing import Annotated, cast

from pydantic import AfterValidator, BeforeValidator

from evenkey.aggregators import WORKER, modules_of
from evenkey.aggregators import parse as parse_aggregator
from evenkey.core.streams import (
    FORMATS,
    read_names,
    read_types,
    spell_names,
)
from evenkey.groupings import By
from evenkey.pipeline.aggregate.sink_names import SinkName
from evenkey.pipeline.options import (
    MOST_TASKS,
    AnyPath,
    Configuration,
    KafkaOptions,
    KeyedOptions,
    option,
)

_WITH_COLUMNS = ", ".join(FORMATS.with_columns)
_WITHOUT_TYPES = ", ".join(
    name for name, form in FORMATS.with_columns.items() if not form.has_types
)
_MOST_AHEAD = 1e11
"""Seconds: what can be added to a timestamp of Spark's."""


def _names(value: object) -> object:
    """Take a list of columns for their names with commas between."""
    texts = isinstance(value, list | tuple) and value and all(isinstance(n, str) for n in value)
    return spell_names(cast("list[str]", value)) if texts else value


def _check_names(text: str) -> str:
    """Make sure that the names of columns can be read, and that none is named twice."""
    if not text:
        message = "must not be empty"
        raise ValueError(message)
    names = read_names(text)
    for name in names:
        if not name:
            message = f"{text!r}: a name of a column is empty; write a,b"
            raise ValueError(message)
        if names.count(name) > 1:
            message = f"{text!r}: {name!r} is named twice; name it once"
            raise ValueError(message)
    return text


def _check_types(text: str) -> str:
    """Make sure that types of columns can be read."""
    read_types(text)
    return text


def _spelled(text: str) -> str:
    """Make sure that there is such an aggregator, and spell it as all do, but for users' own."""
    found = parse_aggregator(text)
    return text.strip() if modules_of(text) else str(found)


class AggregationOptions(Configuration):
    """What messages are, and what is computed of them; a part of other configurations."""

    key: Annotated[str, BeforeValidator(_names), AfterValidator(_check_names)] | None = option(
        "Input",
        None,
        f"Column or field with the key, for {_WITH_COLUMNS}; several with commas between are one "
        "key.",
        first=True,
    )
    count: str | None = option(
        "Input",
        None,
        f"Column or field with a message's weight, for {_WITH_COLUMNS}; else 1.",
        min_length=1,
        first=True,
    )
    time: str | None = option(
        "Input",
        None,
        "Column or field with a message's own time, for windows: a timestamp, ISO 8601 (UTC where "
        "no zone is given), or seconds or milliseconds since 1970. Rows may come in any order.",
        min_length=1,
        first=True,
    )
    types: Annotated[str, AfterValidator(_check_types)] | None = option(
        "Input",
        None,
        f"Types of the columns of {_WITHOUT_TYPES} that the aggregator reads: amount "
        "decimal(12,2), clicks bigint; without it bigint where all numbers are whole, else double.",
    )
    splitters: int | None = option(
        "Grouping",
        None,
        "Tasks that split and route; without it as many as sources, with no shuffle between.",
        ge=1,
        le=MOST_TASKS,
        layout=True,
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
    aggregator: Annotated[str, AfterValidator(_spelled)] = option(
        "Work",
        "count",
        "What is computed: count, sum(column=amount), mean(column=amount), top-k(k=10); several "
        "with names, orders=count,revenue=sum(column=amount); or your own, module:name. The column "
        "count is the message's weight.",
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
    lateness: float | None = option(
        "Work",
        None,
        "Seconds of event time that messages may come late, and results wait for them. Without "
        "it 60 from Kafka, as partitions are not read in step; and with --time nothing is late, "
        "and all results come at the end.",
        ge=0,
    )
    max_ahead: float = option(
        "Input",
        3600.0,
        "Seconds that a message's own time, or a record's, may be ahead of the clock when its "
        "epoch begins; one further ahead is a dead letter. A large number lets all in.",
        ge=0,
        le=_MOST_AHEAD,
    )
    avro_schema: AnyPath | None = option(
        "Kafka",
        None,
        "File with the Avro schema of the records; they are split as JSON objects of its fields.",
    )
    sink: SinkName = option(
        "Output",
        "memory",
        "Where results go; where there is an output, parquet unless it is given.",
    )

    @property
    def key_names(self) -> tuple[str, ...]:
        """Names that the key has in results: those of its columns, or ``key``."""
        return ("key",) if self.key is None else read_names(self.key)

    @property
    def value_names(self) -> tuple[str, ...]:
        """Columns of the input that the aggregator reads, besides the messages' weight."""
        weight = self.key is None or self.count is not None
        own = {WORKER, "count"} if weight else {WORKER}
        return tuple(name for name in parse_aggregator(self.aggregator).columns if name not in own)


class PipelineOptions(KeyedOptions, KafkaOptions, AggregationOptions):
    """All options of a pipeline; what is made of them is a `PipelineConfig`."""
