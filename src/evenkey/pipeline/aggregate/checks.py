"""Check combinations of a pipeline's options; each check raises a `ConfigurationError`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from evenkey.aggregators import WORKER
from evenkey.aggregators import parse as parse_aggregator
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import (
    FORMATS,
    JsonLines,
    read_types,
)

if TYPE_CHECKING:
    from evenkey.core.streams import SplitName
    from evenkey.pipeline.aggregate.pipeline_options import PipelineOptions

_INPUTS = ("dataset", "input", "kafka")
_MESSAGE_COLUMNS = ("count", WORKER)
"""Numeric columns of every message: its weight (``count``) and its worker."""
_OF_ALL_RESULTS = ("window_start", "window_end", "epoch")
"""Columns of all results; readers of files get ``epoch`` from the name of the directory."""
KEY = "key"
"""Name of the column with the key while a run computes."""


def check_one_input(config: PipelineOptions) -> None:
    """Check that there is one input, and no option of another kind of input."""
    given = [name for name in _INPUTS if getattr(config, name) not in (None, ())]
    if len(given) != 1:
        if given:
            message = (
                f"{' and '.join(given)} are given, but a pipeline reads one: leave out the others"
            )
        else:
            message = "there is no input: pass dataset, input or kafka"
        raise ConfigurationError(message)
    usual = type(config).model_fields["max_ahead"].default
    if config.kafka is None and config.time is None and config.max_ahead != usual:
        message = (
            f"max_ahead = {config.max_ahead:g}: it applies only to records of topics and to rows "
            "with a time column, and none are read; leave out max_ahead, pass time or pass kafka"
        )
        raise ConfigurationError(message)
    if config.kafka is not None and config.time is not None:
        message = (
            f"time = {config.time!r}: windows use the timestamps of a topic's records; leave out "
            "time"
        )
        raise ConfigurationError(message)
    if config.dataset is not None:
        for name in ("split", "key", "count", "time", "types"):
            if getattr(config, name) is not None:
                message = (
                    f"{name} = {getattr(config, name)!r}: it describes an input, but a dataset "
                    f"is read; leave out {name}, or pass input or kafka instead of dataset"
                )
                raise ConfigurationError(message)
    elif config.split is not None:
        check_columns(config, config.split)


def check_columns(config: PipelineOptions, split: SplitName) -> None:
    """Require a key if the split has columns; reject options that name columns if it has none."""
    form = FORMATS.with_columns.get(split)
    if form is not None:
        if config.key is None:
            message = (
                f"split = {split!r}: it needs the option key, the column or field with the key"
            )
            raise ConfigurationError(message)
        if form.has_types and config.types is not None:
            message = (
                f"types = {config.types!r}: {split} files have their own types; leave out types"
            )
            raise ConfigurationError(message)
        return
    for name in ("key", "count", "time", "types"):
        if getattr(config, name) is not None:
            message = (
                f"{name} = {getattr(config, name)!r}: only {', '.join(FORMATS.with_columns)} "
                f"have columns, and split is {split!r}; leave out {name} or pass another split"
            )
            raise ConfigurationError(message)
    _check_weight_alone(config)


def check_avro(config: PipelineOptions) -> None:
    """Check that an Avro schema is given only with topics, and only with records split as JSON."""
    if config.avro_schema is None:
        return
    if config.kafka is None:
        message = "avro_schema: it applies only to topics, and none is read; pass kafka"
        raise ConfigurationError(message)
    if config.split not in (None, JsonLines.name):
        message = (
            f"split = {config.split!r}: Avro records are split as JSON objects; leave out split "
            "or avro_schema"
        )
        raise ConfigurationError(message)


def check_planning(config: PipelineOptions) -> None:
    """Check that the input can be counted before it is routed, if the grouping requires it."""
    grouping = config.resolved_grouping()
    if config.kafka is not None and grouping.counts_ahead:
        message = (
            f"grouping = {str(grouping)!r}: records of topics cannot be counted before they "
            "are routed; choose planned, or planned(planning=previous)"
        )
        raise ConfigurationError(message)


def check_work(config: PipelineOptions) -> None:
    """Check the aggregator's columns, the names in results and the lengths of windows."""
    if config.dataset is not None:
        _check_weight_alone(config)
    if config.key is not None:
        _check_typed(config)
    _check_names_of_results(config)
    parts = config.aggregator_window / config.worker_window
    if parts < 1 or abs(parts - round(parts)) > 1e-9 * parts:
        message = (
            f"aggregator_window = {config.aggregator_window:g}: must be a multiple of "
            f"worker_window = {config.worker_window:g} seconds"
        )
        raise ConfigurationError(message)


def _check_weight_alone(config: PipelineOptions) -> None:
    """Check that the aggregator reads only what every message has: its weight and its worker."""
    for column in parse_aggregator(config.aggregator).columns:
        if column not in _MESSAGE_COLUMNS:
            message = (
                f"aggregator = {config.aggregator!r}: messages have no column {column!r}, only "
                "count, which is their weight; pass an input with columns, and key"
            )
            raise ConfigurationError(message)


def _check_names_of_results(config: PipelineOptions) -> None:
    """Check that no two columns of the results have the same name, regardless of case."""
    for name in config.value_names:
        # Spark ignores the case of names.
        if name.lower() == KEY:
            message = (
                f"aggregator = {config.aggregator!r}: it reads a column {name!r}, but within a "
                f"run {name!r} is the name of the key; rename this column in the input"
            )
            raise ConfigurationError(message)
    aggregator = parse_aggregator(config.aggregator)
    # The names of results do not depend on the types of columns, so any type serves.
    numbers = [(name, pa.int64()) for name in aggregator.columns]
    bound = aggregator.bind(pa.schema([(KEY, pa.string()), *numbers]))
    results = bound.result.names
    if bound.scope == "window":
        results = [name for name in results if name != KEY]
    own = [*_OF_ALL_RESULTS, *results]
    for name in results:
        if name.lower() == KEY or [each.lower() for each in own].count(name.lower()) > 1:
            message = (
                f"aggregator = {config.aggregator!r}: results have another column named {name!r}, "
                "regardless of case; choose another name"
            )
            raise ConfigurationError(message)
    for name in config.key_names:
        if name.lower() in (each.lower() for each in own):
            message = (
                f"key = {config.key!r}: results have another column named {name!r} (they have: "
                f"{', '.join(own)}); rename this one in the input"
            )
            raise ConfigurationError(message)


def _check_typed(config: PipelineOptions) -> None:
    """Check that types are given only for columns that the aggregator reads.

    For topics, check also that the type of each such column is given.
    """
    typed = {} if config.types is None else read_types(config.types)
    for name in typed:
        if name not in config.value_names:
            reads = ", ".join(config.value_names) or "none"
            message = (
                f"types = {config.types!r}: the aggregator does not read {name!r}; it reads: "
                f"{reads}"
            )
            raise ConfigurationError(message)
    for name in config.value_names:
        if config.kafka is not None and name not in typed:
            message = (
                f"aggregator = {config.aggregator!r}: topics are not scanned for types, so the "
                f"type of {name!r} must be given; pass types='{name} double', for instance"
            )
            raise ConfigurationError(message)
