"""From a configuration to its messages, without Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkey.errors import ConfigurationError
from evenkey.streams import FileStream, LineIndex, RowIndex, SplitLines, find_files, generated
from evenkey.streams.splits import SPLITTERS, CsvRecords, JsonLines

if TYPE_CHECKING:
    from evenkey.streams import KeyStream, MessageStream
    from evenkey.streams.file_stream import Records
    from evenkey.streams.splits import Split, Splitter
    from evenkey.topology.config import PipelineConfig

__all__ = ["generated_stream", "index_input", "open_stream"]


def open_stream(config: PipelineConfig) -> MessageStream:
    """Open what a configuration reads as one stream, from first to last.

    Raises
    ------
    ConfigurationError
        There is no such dataset or file, it is empty, or it lacks the key.
    """
    if config.dataset is not None:
        return generated_stream(config.dataset, config)
    records: Records = index_input(config)
    if config.messages is not None and config.messages < len(records):
        records = _First(records, config.messages)
    return FileStream(", ".join(map(str, config.input)), records, rate=config.rate)


def generated_stream(name: str, config: PipelineConfig) -> KeyStream:
    """Make a generated stream with the length, seed and rate of a configuration."""
    return generated(name, messages=config.messages, seed=config.seed, rate=config.rate)


def index_input(config: PipelineConfig) -> SplitLines | RowIndex:
    """Index the input's files and choose what takes their lines apart.

    Raises
    ------
    ConfigurationError
        There is no such file, it is empty, or it lacks the key.
    """
    files = find_files(config.input)
    split = config.resolved_split()
    if split == "parquet":
        return RowIndex.build(files, _key(config), config.count)
    index = LineIndex.build(files, header=split == "csv")
    return SplitLines(index, _splitter(config, index, split))


def _splitter(config: PipelineConfig, index: LineIndex, split: str) -> Splitter:
    if split == "csv":
        filled = [number for number, size in enumerate(index.sizes) if size]
        headers = {CsvRecords.columns(index.header(number)) for number in filled}
        if len(headers) > 1:
            message = f"the CSV files of the input have {len(headers)} different headers"
            raise ConfigurationError(message)
        return CsvRecords(headers.pop(), _key(config), config.count)
    if split == "json":
        return JsonLines(_key(config), config.count)
    return SPLITTERS[split]


def _key(config: PipelineConfig) -> str:
    if config.key is None:
        message = "this input needs key: the column or field that holds the key"
        raise ConfigurationError(message)
    return config.key


@dataclass(frozen=True)
class _First:
    """The first few of other records."""

    records: Records
    length: int

    def __len__(self) -> int:
        return self.length

    def split(self, start: int, stop: int) -> Split:
        return self.records.split(start, min(stop, self.length))
