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
"""Maximum seconds that can be added to a Spark timestamp."""


def _names(value: object) -> object:
    """Convert a list of column names to a string with commas; return other values unchanged."""
    texts = isinstance(value, list | tuple) and value and all(isinstance(n, str) for n in value)
    return spell_names(cast("list[str]", value)) if texts else value


def _check_names(text: str) -> str:
    """Check that the names of columns can be parsed, and that there are no duplicates."""
    if not text:
        message = "must not be empty"
        raise ValueError(message)
    names = read_names(text)
    for name in names:
        if not name:
            message = f"{text!r}: a column name is empty; write a,b"
            raise ValueError(message)
        if names.count(name) > 1:
            message = f"{text!r}: {name!r} is named twice; name it once"
            raise ValueError(message)
    return text


def _check_types(text: str) -> str:
    """Check that types of columns can be parsed."""
    read_types(text)
    return text


def _spelled(text: str) -> str:
    """Check that the aggregator exists, and return its normalized spelling.

    The spelling of a user's own aggregator, ``module:name``, stays unchanged.
    """
    found = parse_aggregator(text)
    return text.strip() if modules_of(text) else str(found)


class AggregationOptions(Configuration):
    """Options for the columns of messages and the aggregator; a base class of configurations."""

    key: Annotated[str, BeforeValidator(_names), AfterValidator(_check_names)] | None = option(
        "Input",
        None,
        f"Column or field with the key, for {_WITH_COLUMNS}; several, separated by commas, form "
        "one key.",
        first=True,
        metavar="COLUMNS",
    )
    count: str | None = option(
        "Input",
        None,
        f"Column or field with a message's weight, for {_WITH_COLUMNS}; default: 1.",
        min_length=1,
        first=True,
        metavar="COLUMN",
    )
    time: str | None = option(
        "Input",
        None,
        "Column or field with a message's own time, for windows: a timestamp, ISO 8601 (UTC "
        "without a zone), or seconds or milliseconds since 1970. Rows may come in any order.",
        min_length=1,
        first=True,
        metavar="COLUMN",
    )
    types: Annotated[str, AfterValidator(_check_types)] | None = option(
        "Input",
        None,
        f"Types of the columns of {_WITHOUT_TYPES} that the aggregator reads: amount "
        "decimal(12,2), clicks bigint; default: bigint if all numbers are whole, else double.",
        metavar="TYPES",
    )
    splitters: int | None = option(
        "Grouping",
        None,
        "Tasks that split and route; default: as many as sources, without a shuffle.",
        ge=1,
        le=MOST_TASKS,
        layout=True,
    )
    route_by: By = option(
        "Grouping",
        "messages",
        "Whether a message counts as 1 in routing (messages), or as its weight (weights).",
    )
    observe_by: By = option(
        "Grouping",
        "messages",
        "Whether a message counts as 1 in the reported loads (messages), or as its weight "
        "(weights).",
    )
    aggregator: Annotated[str, AfterValidator(_spelled)] = option(
        "Work",
        "count",
        "Aggregate: count, sum(column=amount), mean(column=amount), top-k(k=10); several with "
        "names, orders=count,revenue=sum(column=amount); or your own, module:name. The column "
        "count is the message's weight.",
        first=True,
        metavar="AGGREGATOR",
    )
    worker_window: float = option(
        "Work",
        15.0,
        "Window of a worker's partial results, in seconds of event time.",
        gt=0,
        metavar="SECONDS",
    )
    aggregator_window: float = option(
        "Work",
        60.0,
        "Window of the results, in seconds: a multiple of the worker window.",
        gt=0,
        first=True,
        metavar="SECONDS",
    )
    lateness: float | None = option(
        "Work",
        None,
        "Seconds of event time that messages may be late; results wait that long. Default: 60 "
        "from Kafka, because its partitions are read at different speeds; with --time nothing is "
        "late, and all results come at the end.",
        ge=0,
        metavar="SECONDS",
    )
    max_ahead: float = option(
        "Input",
        3600.0,
        "Seconds that the time of a message or record may be ahead of the clock when its epoch "
        "begins; a message further ahead is a dead letter. A large number accepts all.",
        ge=0,
        le=_MOST_AHEAD,
        metavar="SECONDS",
    )
    avro_schema: AnyPath | None = option(
        "Kafka",
        None,
        "File with the Avro schema of the records, which are then split as JSON objects.",
    )
    sink: SinkName = option(
        "Output",
        "memory",
        "Destination of results; with an output the default is parquet.",
    )

    @property
    def key_names(self) -> tuple[str, ...]:
        """Names of the key columns in results: those of the option ``key``, or only ``key``."""
        return ("key",) if self.key is None else read_names(self.key)

    @property
    def value_names(self) -> tuple[str, ...]:
        """Columns of the input that the aggregator reads, except a message's weight and worker."""
        weight = self.key is None or self.count is not None
        own = {WORKER, "count"} if weight else {WORKER}
        return tuple(name for name in parse_aggregator(self.aggregator).columns if name not in own)


class PipelineOptions(KeyedOptions, KafkaOptions, AggregationOptions):
    """All options of a pipeline; the base class of `PipelineConfig`."""
