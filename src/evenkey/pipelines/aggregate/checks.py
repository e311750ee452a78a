"""What options of a pipeline do not go together; each check raises a `ConfigurationError`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.aggregators import WORKER
from evenkey.aggregators import parse as parse_aggregator
from evenkey.errors import ConfigurationError
from evenkey.groupings import PlannedGrouping

if TYPE_CHECKING:
    from evenkey.pipelines.aggregate.options import PipelineOptions
    from evenkey.streams.suffixes import SplitName

__all__ = [
    "check_avro",
    "check_columns",
    "check_one_input",
    "check_planning",
    "check_work",
]

_SPLITS_WITH_COLUMNS = ("csv", "json", "parquet")
_INPUTS = ("dataset", "input", "kafka")
_MESSAGE_COLUMNS = ("count", WORKER)
"""Numbers that every message has, besides its key and its time: its own, its worker's."""


def check_one_input(config: PipelineOptions) -> None:
    """Make sure that there is one input, and nothing that describes another one."""
    given = [name for name in _INPUTS if getattr(config, name) not in (None, ())]
    if len(given) != 1:
        several = f"{' and '.join(given)} are given" if given else "none is given"
        message = f"a pipeline reads a dataset, an input or kafka, and {several}: pass one"
        raise ConfigurationError(message)
    usual = type(config).model_fields["max_ahead"].default
    if config.kafka is None and config.max_ahead != usual:
        message = (
            f"max_ahead = {config.max_ahead:g}: only records of topics bear times of their own, "
            "and none are read; drop max_ahead or pass kafka"
        )
        raise ConfigurationError(message)
    if config.dataset is not None:
        for name in ("split", "key", "count"):
            if getattr(config, name) is not None:
                message = (
                    f"{name} = {getattr(config, name)!r}: it describes an input, and a dataset "
                    f"is read; drop {name} or pass input or kafka in place of dataset"
                )
                raise ConfigurationError(message)
    elif config.split is not None:
        check_columns(config, config.split)


def check_columns(config: PipelineOptions, split: SplitName) -> None:
    """Make sure that key and count are named where a split has columns, and only there."""
    if split in _SPLITS_WITH_COLUMNS:
        if config.key is None:
            message = f"split = {split!r}: it needs key, the column or field with the key"
            raise ConfigurationError(message)
        return
    for name in ("key", "count"):
        if getattr(config, name) is not None:
            message = (
                f"{name} = {getattr(config, name)!r}: only {', '.join(_SPLITS_WITH_COLUMNS)} "
                f"have columns, and split is {split!r}; drop {name} or pass another split"
            )
            raise ConfigurationError(message)


def check_avro(config: PipelineOptions) -> None:
    """Make sure that a schema is one of records, and that these are split as what they become."""
    if config.avro_schema is None:
        return
    if config.kafka is None:
        message = "avro_schema: only topics have it, and none is read; pass kafka"
        raise ConfigurationError(message)
    if config.split not in (None, "json"):
        message = (
            f"split = {config.split!r}: Avro records are split as JSON objects; drop split or "
            "avro_schema"
        )
        raise ConfigurationError(message)


def check_planning(config: PipelineOptions) -> None:
    """Make sure that what a grouping wants to count first can be counted."""
    grouping = config.resolved_grouping()
    ahead = isinstance(grouping, PlannedGrouping) and grouping.planning == "current"
    if config.kafka is not None and ahead:
        message = (
            f"grouping = {str(grouping)!r}: records of topics cannot be counted before they "
            "are routed; choose planned, or planned(planning=previous)"
        )
        raise ConfigurationError(message)


def check_work(config: PipelineOptions) -> None:
    """Make sure that the aggregator finds its columns and that the windows fit."""
    for column in parse_aggregator(config.aggregator).columns:
        if column not in _MESSAGE_COLUMNS:
            message = (
                f"aggregator = {config.aggregator!r}: messages have no column {column!r}; they "
                "have: count (the option count says what it is)"
            )
            raise ConfigurationError(message)
    parts = config.aggregator_window / config.worker_window
    if parts < 1 or abs(parts - round(parts)) > 1e-9 * parts:
        message = (
            f"aggregator_window = {config.aggregator_window:g}: must be a multiple of "
            f"worker_window = {config.worker_window:g} seconds"
        )
        raise ConfigurationError(message)
