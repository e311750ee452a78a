"""The sinks of runs, by the names that users type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from evenkey.pipeline.options import KafkaOptions
    from evenkey.pipeline.runs import RunDirectory, Sink

SinkName = Literal["parquet", "jsonl", "console", "memory", "kafka"]
FILE_SINKS: tuple[SinkName, ...] = ("parquet", "jsonl")
"""Sinks that need the option ``output``."""


def sink_of(
    name: SinkName,
    config: KafkaOptions,
    directory: RunDirectory,
    *,
    keys: Sequence[str],
    console: TextIO | None,
) -> Sink:
    """Create the sink of a run.

    Parameters
    ----------
    name
        Name of the sink.
    config
        The options for topics, which name the topic for results, if any.
    directory
        Directory of the run.
    keys
        Columns of the results' key.
    console
        Where the console sink prints; None: standard output.
    """
    # Imported late: sinks need Spark, options do not.
    from evenkey.pipeline.aggregate.unstored_sinks import ConsoleSink, MemorySink
    from evenkey.pipeline.runs import FileSink, passed_on

    if name == "memory":
        return MemorySink()
    if name == "console":
        return ConsoleSink(console)
    files = FileSink(directory.commits, "json" if name == "jsonl" else "parquet")
    return passed_on(files, config, directory, keys)
