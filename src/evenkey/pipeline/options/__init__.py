"""Declare, read and check options, and the groups of options that runs share."""
# ruff: noqa: E402 - a missing package is reported before the imports that need it

from __future__ import annotations

from evenkey.core.extras import load_extra

load_extra("pydantic", "cli", "a run, an application or their options")

from evenkey.pipeline.options.base import Configuration, check_configuration
from evenkey.pipeline.options.grouping_options import GroupingOptions, WorkOptions
from evenkey.pipeline.options.input_options import EpochOptions, InputOptions
from evenkey.pipeline.options.kafka_options import KafkaOptions
from evenkey.pipeline.options.keyed_options import KeyedOptions
from evenkey.pipeline.options.named_files import check_output, check_outside
from evenkey.pipeline.options.option_fields import MOST, MOST_TASKS, AnyPath, fact, option, paths
from evenkey.pipeline.options.run_options import RunOptions

__all__ = [
    "MOST",
    "MOST_TASKS",
    "AnyPath",
    "Configuration",
    "EpochOptions",
    "GroupingOptions",
    "InputOptions",
    "KafkaOptions",
    "KeyedOptions",
    "RunOptions",
    "WorkOptions",
    "check_configuration",
    "check_output",
    "check_outside",
    "fact",
    "option",
    "paths",
]
