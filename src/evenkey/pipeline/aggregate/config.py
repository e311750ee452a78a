"""The configuration of a pipeline, for ``evenkey run``, TOML files and Python."""

from __future__ import annotations

from typing import Any

from evenkey.aggregators import WORKER
from evenkey.aggregators import parse as parse_aggregator
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import JsonLines, Lines, SplitName, generated, split_of
from evenkey.kafka import read_schema
from evenkey.pipeline.aggregate.checks import (
    check_avro,
    check_columns,
    check_one_input,
    check_planning,
    check_work,
)
from evenkey.pipeline.aggregate.pipeline_options import PipelineOptions
from evenkey.pipeline.aggregate.sink_names import FILE_SINKS

_PLACES_OF_KEYS = (
    "grouping",
    "workers",
    "expected_keys",
    "warm_up",
    "teenage_period",
    "old_period",
)
"""Options that determine the possible workers of a key."""

_KAFKA_LATENESS = 60.0
"""Default lateness with topics, in seconds: event times of partitions may differ that much."""


class PipelineConfig(PipelineOptions):
    """The configuration of a pipeline; immutable, checked as a whole on creation.

    Field names are the long options of the command line with underscores for dashes, and
    the keys of a configuration file. Windows and periods are seconds of event time.

    Defaults are those of the reference implementation of DKG, with three exceptions. There is no
    simulated cost and no time limit. There are 4 aggregators instead of 10, because every epoch
    commits the state of each aggregator, which is slow on small machines. The option
    `reference_defaults` sets these three options, too, to the values of the reference
    implementation.

    Raises
    ------
    ConfigurationError
        An option does not exist or its value is invalid; the message names the option, the
        value and the allowed values.

    Examples
    --------
    >>> config = PipelineConfig(dataset="country-skew-r80", grouping="dkg", warm_up=5)
    >>> str(config.resolved_grouping())
    'dkg(warm_up=5)'
    >>> PipelineConfig(dataset="country-skew-r80", workers=0)
    Traceback (most recent call last):
    evenkey.core.errors.ConfigurationError: workers = 0: must be at least 1

    >>> config.routers
    5
    >>> config.check_paths()  # nothing to reach: a generated stream, no output
    >>> counted = PipelineConfig(dataset="country-skew-r80", aggregator="heavy-hitters(k=3)")
    >>> counted.pinned()["grouping"]
    'heavy-hitters depends on the workers of a key'
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp(), "clicks.csv")
    >>> _ = file.write_text("user,page")
    >>> str(PipelineConfig(input=(str(file),), key="user").resolved_split())
    'csv'
    """

    def __init__(self, /, **options: Any) -> None:
        # Type checkers would otherwise require exactly the fields' types, although text and single
        # values are accepted, too.
        super().__init__(**options)

    @property
    def routers(self) -> int:
        """Number of tasks that split and route."""
        return self.splitters or self.sources

    def resolved_split(self) -> SplitName:
        """Return the split of the input: the option ``split``, or the default split.

        The default is determined by the suffixes of files. For topics it is ``json`` with an Avro
        schema, else ``lines``.

        Raises
        ------
        ConfigurationError
            The files have several formats, or their format needs a key and none is given.
        """
        of_records: SplitName = Lines.name if self.avro_schema is None else JsonLines.name
        split = self.split or (of_records if self.kafka is not None else split_of(self.input))
        check_columns(self, split)
        return split

    def check_paths(self) -> None:
        """Check, before anything starts, that input and output can be reached.

        Raises
        ------
        ConfigurationError
            An input is missing, empty or unreadable, the output cannot be a directory, Spark has
            no Kafka connector, or no broker answers.
        """
        if self.avro_schema is not None:
            read_schema(self.avro_schema)
        super().check_paths()
        if self.input:
            self.resolved_split()

    def pinned(self) -> dict[str, str]:
        """Return the options that may not change when a run continues, with reasons.

        If the aggregator reads the worker of a message, a key must keep its workers while a window
        is open. Then options that determine the workers of a key may not change.
        """
        pinned = super().pinned()
        if WORKER in parse_aggregator(self.aggregator).columns:
            name = self.aggregator.partition("(")[0]
            why = f"{name} depends on the workers of a key"
            pinned |= dict.fromkeys(_PLACES_OF_KEYS, why)
        return pinned

    def derive(self) -> None:
        """Set the options that are derived from other options."""
        if self.dataset is not None:
            self.set_derived("dataset", generated(self.dataset).name)
        if "sink" not in self.model_fields_set:
            if self.output_kafka is not None:
                self.set_derived("sink", "kafka")
            elif self.output is not None:
                self.set_derived("sink", "parquet")
        if self.lateness is None and self.time is None:
            self.set_derived("lateness", 0.0 if self.kafka is None else _KAFKA_LATENESS)
        if "worker_window" not in self.model_fields_set and self.time is not None:
            # Rows may come in any order, so each epoch may span the whole time of the input.
            # Shorter worker windows would only add partial results.
            self.set_derived("worker_window", self.aggregator_window)
        super().derive()

    def check(self) -> None:
        """Reject invalid combinations."""
        check_one_input(self)
        self.check_kafka_input(self.split)
        self.check_kafka_output(self.sink)
        check_avro(self)
        check_work(self)
        check_planning(self)
        if self.output is None and self.sink in FILE_SINKS:
            message = f"sink = {self.sink!r}: it writes files, but there is no output; pass output"
            raise ConfigurationError(message)
        super().check()
