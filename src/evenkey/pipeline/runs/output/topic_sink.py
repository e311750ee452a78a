"""The sink that sends results and dead letters to topics."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from evenkey.core.errors import RunError, text_of
from evenkey.kafka import ClientSettings
from evenkey.pipeline.runs.output.commits import RESULTS
from evenkey.pipeline.runs.output.sinks import Sink
from evenkey.spark.keys import quoted
from evenkey.spark.sessions import to_arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from evenkey.kafka import Address
    from evenkey.pipeline.options import KafkaOptions
    from evenkey.pipeline.runs.output.commits import Commit, Commits
    from evenkey.pipeline.runs.output.directory import RunDirectory
    from evenkey.pipeline.runs.output.epoch_files import EpochFiles
    from evenkey.pipeline.runs.output.parts import Part
    from evenkey.pipeline.runs.output.sinks import FileSink

_IDENTITY = ("window_start", "rank", "publication")
"""Columns that identify a result besides its key, if the result has them."""
_CONTENT = ("line", "geometry", "reason")
"""Columns of a dead letter other than its position."""

_OF_KAFKA = re.compile(r"org\.apache\.kafka\.common\.errors\.(\w+): (.*)")
_REMEDIES = {
    "RecordTooLargeException": "raise the topic's max.message.bytes, and max.request.size in "
    "kafka_config",
    "TopicAuthorizationException": "allow the user to write to the topic",
}


class KafkaSink(Sink):
    """Writes the rows of an epoch to files, and sends the committed rows to topics.

    The value of a record is the row as a JSON object. The key of a record is a JSON object with the
    columns that identify the row. An epoch that runs again sends its rows again, because Spark's
    Kafka sink delivers at least once. All processes read the rows from the committed files, so
    repeated rows are identical, and `evenkey.kafka.read_topic` drops the repetitions.

    Parameters
    ----------
    files
        The sink that writes the rows to files first.
    address
        The topic for results.
    dead_letters_topic
        The topic for dead letters, on the same servers.
    settings
        Settings of the writing client.
    dead_letters
        The epoch files with the dead letters.
    keys
        Columns of the results' key.
    """

    keeps_files = True

    def __init__(
        self,
        files: FileSink,
        address: Address,
        dead_letters_topic: str,
        settings: ClientSettings,
        dead_letters: EpochFiles,
        *,
        keys: Sequence[str] = ("key",),
    ) -> None:
        self._identity = {*_IDENTITY, *keys}
        self._files = files
        self._servers = address.servers
        self.topic = address.topic
        self._dead_letters_topic = dead_letters_topic
        self._settings = settings
        self._dead_letters = dead_letters

    def write(self, results: DataFrame, epoch: int) -> Sequence[tuple[Part, str]]:
        """Write the epoch's rows to files."""
        return self._files.write(results, epoch)

    def committed(self, results: DataFrame, epoch: int) -> None:
        """Send the epoch's results, then its dead letters."""
        commits = self._files.commits
        commit = commits.of_epoch(epoch)
        spark, schema = results.sparkSession, results.schema
        if commit is not None and commit.of(RESULTS):
            count = len(commit.of(RESULTS))
            task = _ReadTask(commits, commit, schema)
            rows = spark.range(0, count, 1, count).mapInArrow(task, schema)
            by = [name for name in schema.names if name in self._identity]
            self._write(rows, by, self.topic)
        rejected = self._dead_letters.read(self._dead_letters.DEAD_LETTERS, [epoch])
        if rejected is not None:
            rows = spark.createDataFrame(rejected)
            places = [name for name in rows.columns if name not in _CONTENT]
            self._write(rows, places, self._dead_letters_topic)

    def _write(self, rows: DataFrame, by: list[str], topic: str) -> None:
        parts = {"key": by, "value": rows.columns}
        records = rows.select(
            *(F.to_json(F.struct(*map(quoted, names))).alias(part) for part, names in parts.items())
        )
        writer = (
            records.write.format("kafka")
            .options(**self._settings.for_spark())
            .option("kafka.bootstrap.servers", self._servers)
            .option("topic", topic)
        )
        try:
            writer.save()
        except Exception as error:
            reasons = _OF_KAFKA.findall(text_of(error))
            if not reasons:
                raise
            kind, reason = reasons[-1]
            remedy = _REMEDIES.get(kind, "fix the cause")
            message = (
                f"topic {topic} rejected a record ({kind}: {reason.strip()}): {remedy}, and "
                "run the same command again, which continues where this run stopped"
            )
            raise RunError(message) from error


def passed_on(
    files: FileSink, config: KafkaOptions, directory: RunDirectory, keys: Sequence[str] = ("key",)
) -> Sink:
    """Return a sink that also sends the results to a topic, if the options name one.

    Parameters
    ----------
    files
        The sink of the results' files.
    config
        The options for topics, which name the topic for results, if any.
    directory
        Directory of the run, with the dead letters.
    keys
        See `KafkaSink`.
    """
    address = config.sink_address
    if address is None:
        return files
    rejected = config.resolved_dead_letters_topic(address.topic)
    settings = ClientSettings.read(config.kafka_config)
    return KafkaSink(files, address, rejected, settings, directory.dead_letters, keys=keys)


class _ReadTask:
    """Reads parts of a commit, given their positions in the list of its results."""

    def __init__(self, commits: Commits, commit: Commit, schema: StructType) -> None:
        self._commits = commits
        self._commit = commit
        self._schema = schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = to_arrow_schema(self._schema, timezone="UTC")
        parts = self._commit.of(RESULTS)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                content = self._commits.content(self._commit, parts[number])
                rows = pq.ParquetFile(pa.BufferReader(content)).read()
                yield from rows.cast(schema).to_batches()
