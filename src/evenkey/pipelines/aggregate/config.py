"""What a pipeline does: every option of ``evenkey run``, in a TOML file or from Python."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    model_validator,
)

from evenkey.aggregators import WORKER
from evenkey.aggregators import parse as parse_aggregator
from evenkey.errors import ConfigurationError
from evenkey.exporters import check_address
from evenkey.groupings import By
from evenkey.groupings import parse as parse_grouping
from evenkey.kafka.avro import read_schema
from evenkey.options.fields import MOST, MOST_TASKS, AnyPath, Master, option
from evenkey.options.files import check_output
from evenkey.options.kafka import KafkaOptions
from evenkey.pipelines.aggregate.checks import (
    check_avro,
    check_columns,
    check_environment_master,
    check_names,
    check_one_input,
    check_planning,
    check_types,
    check_work,
)
from evenkey.streams import generated
from evenkey.streams.splits import read_names, spell_names
from evenkey.streams.suffixes import Split, check_input, split_of

if TYPE_CHECKING:
    from typing import Self

    from evenkey.groupings import Grouping

__all__ = ["PipelineConfig", "Sink", "Split"]

Sink = Literal["parquet", "jsonl", "console", "memory", "kafka"]

_FILE_SINKS = ("parquet", "jsonl")

_GROUPING_OVERRIDES = ("expected_keys", "warm_up", "teenage_period", "old_period")
_KAFKA_LATENESS = 60.0
"""Seconds that the partitions of a topic may lie apart: a window of the results."""
_MOST_AHEAD = 1e11
"""Seconds: what can be added to a timestamp of Spark's."""
_REFERENCE_DEFAULTS = {"cost_ms": 1.0, "time_limit": 864_000.0, "aggregators": 10}
"""Where the reference's defaults are not those of `PipelineConfig`."""


def _paths(value: object) -> object:
    """Take one path for a list of one."""
    return (value,) if isinstance(value, str | Path) else value


def _texts(value: object) -> object:
    """Take one text for a list of one."""
    return (value,) if isinstance(value, str) else value


def _names(value: object) -> object:
    """Take a list of columns for their names with commas between."""
    texts = isinstance(value, list | tuple) and value and all(isinstance(n, str) for n in value)
    return spell_names(cast("list[str]", value)) if texts else value


def _absolute(path: Path | None) -> str | None:
    return None if path is None else str(path.absolute())


class PipelineConfig(KafkaOptions):
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

    # Inputs are hidden: an address that is refused for its password is not to be repeated.
    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True
    )

    dataset: Annotated[str, AfterValidator(lambda name: generated(name).name)] | None = option(
        "Input",
        None,
        "Generated stream to read; `evenkey dataset list` names them.",
        min_length=1,
    )
    input: Annotated[tuple[AnyPath, ...], BeforeValidator(_paths)] = option(
        "Input", (), "Files to read: a file, a directory or a glob; may be given several times."
    )
    split: Split | None = option(
        "Input",
        None,
        "How messages are found in the input; without it by suffix: .csv, .json, .jsonl, "
        ".ndjson, .parquet, else each line is a key.",
    )
    avro_schema: AnyPath | None = option(
        "Kafka",
        None,
        "File with the Avro schema of the records; they are split as JSON objects of its fields.",
    )
    key: Annotated[str, BeforeValidator(_names), AfterValidator(check_names)] | None = option(
        "Input",
        None,
        "Column or field with the key, for csv, json and parquet; several with commas between are "
        "one key.",
    )
    count: str | None = option(
        "Input",
        None,
        "Column or field with a message's weight, for csv, json and parquet; else 1.",
        min_length=1,
    )
    time: str | None = option(
        "Input",
        None,
        "Column or field with a message's own time, for windows: a timestamp, ISO 8601 (UTC where "
        "no zone is given), or seconds or milliseconds since 1970. Rows may come in any order.",
        min_length=1,
    )
    types: Annotated[str, AfterValidator(check_types)] | None = option(
        "Input",
        None,
        "Types of the columns of csv and json that the aggregator reads: amount decimal(12,2), "
        "clicks bigint; without it bigint where all numbers are whole, else double.",
    )
    messages: int | None = option(
        "Input",
        None,
        "Messages of the dataset, or most lines or rows of the input.",
        ge=1,
        le=MOST,
    )
    seed: int = option("Input", 0, "Another seed gives another stream of the same dataset.")
    rate: float | None = option(
        "Input", None, "Messages per second of event time; without it a run spans 400 s.", gt=0
    )
    arrival_rate: float | None = option(
        "Input",
        None,
        "Messages, lines or rows that arrive in a second of real time; an epoch begins when the "
        "last of its own is there. Without it the whole input is there at the start.",
        gt=0,
    )

    grouping: Annotated[str, AfterValidator(lambda text: str(parse_grouping(text)))] = option(
        "Grouping", "dkg", "Stream grouping, such as dkg or pkg(choices=3)."
    )
    workers: int = option(
        "Grouping", 10, "Workers, each one task of an epoch.", ge=1, le=MOST_TASKS
    )
    sources: int = option(
        "Grouping",
        5,
        "Sources, each routing by the loads that it sees itself.",
        ge=1,
        le=MOST_TASKS,
    )
    splitters: int | None = option(
        "Grouping",
        None,
        "Tasks that split and route; without it as many as sources, with no shuffle between.",
        ge=1,
        le=MOST_TASKS,
    )
    load: Literal["epoch", "lifetime"] = option(
        "Grouping", "epoch", "Whether a source counts loads anew in each epoch or over its life."
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
    expected_keys: int | None = option(
        "Grouping", None, "Expected distinct keys, over the grouping's own (dkg: 100).", ge=1
    )
    warm_up: float | None = option(
        "Grouping", None, "Warm-up in seconds, over the grouping's own (dkg: 15).", ge=0
    )
    teenage_period: float | None = option(
        "Grouping",
        None,
        "Seconds between promotions to the teenage space, over the grouping's own (dkg: 15).",
        gt=0,
    )
    old_period: float | None = option(
        "Grouping",
        None,
        "Seconds between promotions to the old space, over the grouping's own (dkg: 60).",
        gt=0,
    )

    aggregator: Annotated[str, AfterValidator(lambda text: str(parse_aggregator(text)))] = option(
        "Work",
        "count",
        "What is computed: count, sum(column=amount), mean(column=amount), top-k(k=10). The "
        "column count is the message's weight.",
    )
    aggregators: int = option(
        "Work",
        4,
        "Tasks that merge partial results; the reference has 10.",
        ge=1,
        le=MOST_TASKS,
    )
    worker_window: float = option(
        "Work", 15.0, "Window of a worker's partial results, in seconds of event time.", gt=0
    )
    aggregator_window: float = option(
        "Work", 60.0, "Window of the results, in seconds: a multiple of the worker window.", gt=0
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
    cost_ms: float = option(
        "Work", 0.0, "Simulated cost of a message in ms; a worker sleeps for it.", ge=0
    )
    speed: float = option("Work", 1.0, "Divides the simulated cost.", gt=0)

    epochs: int = option("Run", 8, "Micro-batches that the input is cut into.", ge=1, le=MOST)
    epoch_messages: int | None = option(
        "Run", None, "Messages, lines or rows of an epoch, in place of epochs.", ge=1, le=MOST
    )
    time_limit: float | None = option(
        "Run", None, "Seconds after which the run ends with the epoch that it is in.", gt=0
    )
    master: Master | None = option(
        "Run",
        None,
        "Spark master; without it this machine, with as many slots as workers or cores.",
    )
    reference_defaults: bool = option(
        "Run",
        default=False,
        description="The reference's defaults: 1 ms a message, 10 days, 10 aggregators.",
    )

    output: AnyPath | None = option(
        "Output", None, "Directory for results, dead letters and the run's state."
    )
    sink: Sink = option(
        "Output",
        "memory",
        "Where results go; where there is an output, parquet unless told otherwise.",
    )
    export: Annotated[
        tuple[Annotated[str, AfterValidator(check_address)], ...], BeforeValidator(_texts)
    ] = option(
        "Output",
        (),
        "Where the metrics of each epoch go: influxdb://HOST:PORT/DATABASE, "
        "prometheus://HOST:PORT, parquet:DIRECTORY, kafka://SERVERS/TOPIC; may be given "
        "several times.",
        metavar="ADDRESS",
    )

    def __init__(self, /, **options: Any) -> None:
        # For type checkers, which would ask for the fields' own types: text and single values
        # are read too.
        super().__init__(**options)

    def told(self, *panels: str) -> dict[str, Any]:
        """Give the options of some panels of the help that were set, as `with_options` would."""
        options = self.model_dump(exclude_unset=True)
        extra = {name: field.json_schema_extra for name, field in type(self).model_fields.items()}
        return {
            name: value
            for name, value in options.items()
            if cast("dict[str, str]", extra[name])["panel"] in panels
        }

    def resolved_grouping(self) -> Grouping:
        """Give the grouping, with the options that stand over its own parameters."""
        grouping = parse_grouping(self.grouping)
        overrides = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(grouping)
            if field.name in _GROUPING_OVERRIDES and getattr(self, field.name) is not None
        }
        return dataclasses.replace(grouping, **overrides)

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
        if self.input:
            check_input(self.input)
            self.resolved_split()
        if self.output is not None:
            check_output(self.output.absolute())
        if self.avro_schema is not None:
            read_schema(self.avro_schema)
        self._check_kafka_paths()
        check_environment_master(self.master)

    def manifest(self) -> dict[str, Any]:
        """Give every option as JSON can hold it, paths made absolute: what a run is known by."""
        return {
            **self.model_dump(mode="json"),
            "grouping": str(self.resolved_grouping()),
            "input": [str(path.absolute()) for path in self.input],
            "output": _absolute(self.output),
            "kafka_config": _absolute(self.kafka_config),
            "avro_schema": _absolute(self.avro_schema),
        }

    @model_validator(mode="after")
    def _derive_and_check(self) -> Self:
        if "sink" not in self.model_fields_set:
            if self.output_kafka is not None:
                self._derive("sink", "kafka")
            elif self.output is not None:
                self._derive("sink", "parquet")
        if self.lateness is None and self.time is None:
            self._derive("lateness", 0.0 if self.kafka is None else _KAFKA_LATENESS)
        if "worker_window" not in self.model_fields_set and self.time is not None:
            # A file's epochs span all of its time: smaller windows would only be more of them.
            self._derive("worker_window", self.aggregator_window)
        if self.reference_defaults:
            for name, value in _REFERENCE_DEFAULTS.items():
                if name not in self.model_fields_set:
                    self._derive(name, value)
        self._check_input()
        self._check_kafka_input(self.split)
        self._check_kafka_output(self.sink)
        check_avro(self)
        check_work(self)
        check_planning(self)
        if self.output is None and self.sink in _FILE_SINKS:
            message = f"sink = {self.sink!r}: it writes files, and there is no output; pass output"
            raise ConfigurationError(message)
        return self

    def _check_input(self) -> None:
        # A method of its own, because subclasses ask for other inputs.
        check_one_input(self)

    def _derive(self, name: str, value: object) -> None:
        # Past the frozen model, and not among the fields that were set: `with_options` then
        # derives it anew.
        object.__setattr__(self, name, value)
