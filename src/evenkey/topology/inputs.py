"""From a configuration to its messages: which source, which splitter, how long."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc
from pyspark.sql import functions as F

from evenkey.errors import ConfigurationError
from evenkey.streams import SPAN_SECONDS, generated
from evenkey.streams.files import LineIndex, find_files
from evenkey.streams.rows import RowIndex
from evenkey.streams.splits import CsvRecords, JsonLines, Lines, Splitter, Words
from evenkey.topology.sources import (
    GeneratorReading,
    LinesReading,
    Reading,
    RowsReading,
    stream_of,
)
from evenkey.topology.splitting import SPLITS, split_lines, vet_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from evenkey.topology.config import PipelineConfig
    from evenkey.topology.run_directory import RunDirectory

__all__ = ["Input", "open_input"]


@dataclass(frozen=True)
class Input:
    """The messages of a run.

    Parameters
    ----------
    name
        The dataset's name, or the paths.
    messages
        Streaming: ``position``, ``key``, ``count``, ``time``.
    sources
        Tasks that route, each with its own local loads.
    expected
        Positions that the source has.
    directory
        Where the splitters count.
    """

    name: str
    messages: DataFrame
    sources: int
    expected: int
    directory: RunDirectory

    def lines_and_rejected(self) -> tuple[int, int] | None:
        """Lines read and rejected so far; None where every position is a message."""
        counts = self.directory.files.read(SPLITS)
        if counts is None:
            return None
        return pc.sum(counts["lines"]).as_py(), pc.sum(counts["rejected"]).as_py()


def open_input(spark: SparkSession, config: PipelineConfig, directory: RunDirectory) -> Input:
    """Open what a configuration reads.

    Raises
    ------
    ConfigurationError
        There is no such dataset or file, it is empty, or it lacks the key.
    """
    if config.dataset is not None:
        stream = generated(
            config.dataset, messages=config.messages, seed=config.seed, rate=config.rate
        )
        reading: Reading = GeneratorReading(stream)
        df = _spread(_stream(spark, reading, config, directory), config)
        return Input(stream.name, df, _routers(config), reading.total, directory)
    name = ", ".join(map(str, config.input))
    reading, splitter = _remembered(config, directory)
    raw = _spread(_stream(spark, reading, config, directory), config)
    if splitter is None:
        df = vet_rows(raw, directory.dead_letters, directory.files)
    else:
        df = split_lines(raw, splitter, directory.dead_letters, directory.files)
    return Input(name, df, _routers(config), reading.total, directory)


def _remembered(
    config: PipelineConfig, directory: RunDirectory
) -> tuple[Reading, Splitter | None]:
    """What the run first found in its input, so that a restart reads the same."""
    if directory.reading.exists():
        # Written by this run before it started, in its own directory.
        reading, splitter = pickle.loads(directory.reading.read_bytes())  # noqa: S301
        return reading, splitter
    found = _look(config)
    directory.keep(directory.reading, pickle.dumps(found))
    return found


def _look(config: PipelineConfig) -> tuple[Reading, Splitter | None]:
    files = find_files(config.input)
    split = config.resolved_split()
    if split == "parquet":
        rows = RowIndex.build(files, _key(config), config.count)
        return RowsReading(rows, _rate(config, rows.rows)), None
    index = LineIndex.build(files, header=split == "csv")
    reading = LinesReading(index, _rate(config, index.lines))
    if split == "csv":
        headers = {CsvRecords.columns(index.header(i)) for i in range(len(files))}
        if len(headers) > 1:
            message = f"the CSV files of the input have {len(headers)} different headers"
            raise ConfigurationError(message)
        return reading, CsvRecords(headers.pop(), _key(config), config.count)
    if split == "json":
        return reading, JsonLines(_key(config), config.count)
    return reading, Words() if split == "words" else Lines()


def _key(config: PipelineConfig) -> str:
    if config.key is None:
        message = "this input needs key: the column or field that holds the key"
        raise ConfigurationError(message)
    return config.key


def _rate(config: PipelineConfig, positions: int) -> float:
    return positions / SPAN_SECONDS if config.rate is None else config.rate


def _stream(
    spark: SparkSession, reading: Reading, config: PipelineConfig, directory: RunDirectory
) -> DataFrame:
    epoch_messages = config.epoch_messages or max(1, -(-reading.total // config.epochs))
    return stream_of(
        spark,
        reading,
        sources=config.sources,
        epoch_messages=epoch_messages,
        stop_file=directory.paused,
    )


def _routers(config: PipelineConfig) -> int:
    return config.splitters or config.sources


def _spread(df: DataFrame, config: PipelineConfig) -> DataFrame:
    """Deal rows to splitters by turn, in order of position, where they are to be others."""
    if _routers(config) == config.sources:
        return df
    turn = F.pmod("position", F.lit(config.splitters)).cast("int")
    dealt = df.withColumn("__turn", turn).repartitionById(_routers(config), F.col("__turn"))
    return dealt.drop("__turn").sortWithinPartitions("position")
