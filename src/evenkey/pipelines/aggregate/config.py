"""What a pipeline does: every option of ``evenkey run``, in a TOML file or from Python."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from evenkey.aggregators import parse as parse_aggregator
from evenkey.errors import ConfigurationError
from evenkey.groupings import By
from evenkey.kafka.avro import read_schema
from evenkey.options import (
    MOST_TASKS,
    AnyPath,
    Configuration,
    KafkaOptions,
    KeyedOptions,
    option,
)
from evenkey.pipelines.aggregate.checks import (
    check_avro,
    check_columns,
    check_one_input,
    check_planning,
    check_work,
)
from evenkey.streams import generated
from evenkey.streams.suffixes import Split, split_of

__all__ = ["AggregationOptions", "PipelineConfig", "Sink"]

Sink = Literal["parquet", "jsonl", "console", "memory", "kafka"]

_FILE_SINKS = ("parquet", "jsonl")

_KAFKA_LATENESS = 60.0
"""Seconds that the partitions of a topic may lie apart: a window of the results."""
_MOST_AHEAD = 1e11
"""Seconds: what can be added to a timestamp of Spark's."""


class AggregationOptions(Configuration):
    """What messages are, and what is computed of them; a part of other configurations."""

    key: str | None = option(
        "Input", None, "Column or field with the key, for csv, json and parquet.", min_length=1
    )
    count: str | None = option(
        "Input",
        None,
        "Column or field with a message's weight, for csv, json and parquet; else 1.",
        min_length=1,
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
    )
    worker_window: float = option(
        "Work", 15.0, "Window of a worker's partial results, in seconds of event time.", gt=0
    )
    aggregator_window: float = option(
        "Work", 60.0, "Window of the results, in seconds: a multiple of the worker window.", gt=0
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


class PipelineConfig(KeyedOptions, KafkaOptions, AggregationOptions):
    """The configuration of a pipeline; immutable, checked as a whole when it is made.

    Field names are the long options of the command line with underscores for dashes, and
    the keys of a configuration file. Windows and periods are seconds of event time. Options
    that are left out take the reference implementation's defaults, with three exceptions:
    no simulated cost, no time limit, and 4 aggregators in place of 10, because an epoch
    commits the state of each, which makes small machines slow. `reference_defaults` sets
    the reference's here too.

    Raises
    ------
    ConfigurationError
        An option does not exist or its value cannot be; the message names the option, the
        value and what is allowed.

    Examples
    --------
    >>> config = PipelineConfig(dataset="country-skew-r80", grouping="dkg", warm_up=5)
    >>> str(config.resolved_grouping())
    'dkg(warm_up=5)'
    >>> PipelineConfig(dataset="country-skew-r80", workers=0)
    Traceback (most recent call last):
    evenkey.errors.ConfigurationError: workers = 0: must be at least 1
    """

    def __init__(self, /, **options: Any) -> None:
        # For type checkers, which would ask for the fields' own types: text and single values
        # are read too.
        super().__init__(**options)

    @property
    def routers(self) -> int:
        """Tasks that split and route."""
        return self.splitters or self.sources

    def resolved_split(self) -> Split:
        """Give the way to split the input: the option's, or what the files' suffixes say.

        Raises
        ------
        ConfigurationError
            The files are of several kinds, or of one that needs a key and there is none.
        """
        of_records: Split = "lines" if self.avro_schema is None else "json"
        split = self.split or (of_records if self.kafka is not None else split_of(self.input))
        check_columns(self, split)
        return split

    def check_paths(self) -> None:
        """Make sure, before anything starts, that input and output can be reached.

        Raises
        ------
        ConfigurationError
            An input is missing, empty or unreadable, the output cannot be a directory, the
            connector of Kafka is not there, or no broker answers.
        """
        super().check_paths()
        if self.input:
            self.resolved_split()
        if self.avro_schema is not None:
            read_schema(self.avro_schema)

    def derive(self) -> None:
        """Set what follows from other options."""
        if self.dataset is not None:
            self.set_derived("dataset", generated(self.dataset).name)
        if "sink" not in self.model_fields_set:
            if self.output_kafka is not None:
                self.set_derived("sink", "kafka")
            elif self.output is not None:
                self.set_derived("sink", "parquet")
        if "lateness" not in self.model_fields_set and self.kafka is not None:
            self.set_derived("lateness", _KAFKA_LATENESS)
        super().derive()

    def check(self) -> None:
        """Refuse options that do not go together."""
        check_one_input(self)
        self.check_kafka_input(self.split)
        self.check_kafka_output(self.sink)
        check_avro(self)
        check_work(self)
        check_planning(self)
        if self.output is None and self.sink in _FILE_SINKS:
            message = f"sink = {self.sink!r}: it writes files, and there is no output; pass output"
            raise ConfigurationError(message)
        super().check()
