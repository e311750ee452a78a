"""Open the messages of a configuration without Spark."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from evenkey.aggregators import WORKER
from evenkey.aggregators import parse as parse_aggregator
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import (
    FORMATS,
    Columns,
    ColumnSplitter,
    FileStream,
    FirstRecords,
    RowIndex,
    SplitLines,
    find_files,
    generated,
    read_types,
    unpack,
)
from evenkey.pipeline.aggregate.messages.found_types import with_types

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.core.streams import KeyStream, MessageStream, Records, Splitter
    from evenkey.pipeline.aggregate.config import PipelineConfig


@contextlib.contextmanager
def opened_stream(config: PipelineConfig) -> Iterator[MessageStream]:
    """Open the input of a configuration as one stream.

    Compressed files stay unpacked while the stream is open.

    Yields
    ------
    MessageStream

    Raises
    ------
    ConfigurationError
        The dataset or a file does not exist, is empty or corrupt, or lacks the key.
    """
    if config.dataset is not None:
        yield generated_stream(config.dataset, config)
        return
    if config.kafka is not None:
        message = f"kafka = {config.kafka!r}: only `run` reads topics; pass a dataset or an input"
        raise ConfigurationError(message)
    with opened_records(config) as every:
        records = every
        if config.messages is not None and config.messages < len(every):
            records = FirstRecords(every, config.messages)
        yield FileStream(", ".join(map(str, config.input)), records, rate=config.rate)


@contextlib.contextmanager
def opened_records(config: PipelineConfig) -> Iterator[Records]:
    """Open all files of a configuration as numbered lines or rows.

    Compressed files stay unpacked while the records are open. Errors are those of
    `opened_stream`.
    """
    with tempfile.TemporaryDirectory(prefix="evenkey-") as unpacked:
        yield index_input(config, Path(unpacked))


def generated_stream(name: str, config: PipelineConfig) -> KeyStream:
    """Return a generated stream with the length, seed and rate of a configuration."""
    return generated(name, messages=config.messages, seed=config.seed, rate=config.rate)


def index_input(config: PipelineConfig, unpacked: Path) -> SplitLines | RowIndex:
    """Index the input's files and choose their splitter.

    Parameters
    ----------
    config
        The configuration, which names the files.
    unpacked
        Directory to unpack compressed files into.

    Raises
    ------
    ConfigurationError
        A file does not exist, is empty or corrupt, or lacks the key.
    """
    files = unpack(find_files(config.input), unpacked)
    form = FORMATS[config.resolved_split()]
    found = form.index(files, columns_of(config), config.value_names)
    if isinstance(found, RowIndex):
        _check_taken(config, found.columns)
    elif isinstance(found.splitter, ColumnSplitter):
        name = ", ".join(map(str, config.input))
        splitter = with_types(name, found.index, found.splitter, config)
        _check_taken(config, splitter.columns)
        return SplitLines(found.index, splitter)
    return found


def _check_taken(config: PipelineConfig, columns: Columns) -> None:
    """Check that the aggregator accepts its columns' types; the errors are those of its `bind`."""
    numbers = [("count", pa.int64()), (WORKER, pa.int32())]
    messages = dict([("key", pa.string()), *numbers, *columns.values])
    parse_aggregator(config.aggregator).bind(pa.schema(list(messages.items())))


def columns_of(config: PipelineConfig) -> Columns:
    """Return the columns of a message, including columns of the aggregator whose types are given.

    An input without a key has no columns; `PipelineConfig.resolved_split` checks this.
    """
    if config.key is None:
        return Columns(())
    typed = {} if config.types is None else read_types(config.types)
    values = [(name, typed[name]) for name in config.value_names if name in typed]
    return Columns(config.key_names, config.count, config.time, values)


def lines_splitter(config: PipelineConfig) -> Splitter:
    """Return the splitter of the configuration, which must split lines that have no header.

    Raises
    ------
    ConfigurationError
        The split needs a key, and none is given.
    """
    return FORMATS.of_lines[config.resolved_split()].splitter(columns_of(config))
